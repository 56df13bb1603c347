/**
 * The two-sided sweep: what each account holds is listed page by page and compared with what we recorded. Lists only make
 * suspicious; a look at the one payment decides. By itself it moves no money; what people decided it carries out.
 */
import { compareEach } from '../findings/compare-each.js';
import {
  afterPage,
  listedBy,
  PACES,
  roundOf,
  type Pace,
  type Progress,
  type Round,
  type SweepClaim,
} from '../findings/rounds.js';
import type { Failure } from '../operation/failure.js';
import { OperationId } from '../operation/spec.js';
import type { PaymentPage, PaymentProvider } from '../payment/port.js';
import { nameOf } from '../reconciler/broken.js';
import { isAway, isRefused } from '../store/database.js';
import type { DueLook } from '../store/finding-store.js';
import type { Leave, PageEntry } from '../store/orphan-sweep-store.js';
import { carryOutDecided } from './decided.js';
import { lookAt, type Look } from './look.js';
import { lookForMissing } from './missing.js';
import { FOR_SWEEP, type GoesOn, type OrphanDependencies } from './ports.js';

/** For each pace and tick: 2,000 payments every ten minutes, in some seconds, while orders go on beside it. */
const PAGES_PER_TICK = 20;
/** While the account's requests are metered, orders need them more. */
const PAGES_WHEN_LIMITED = 1;
/** Each is one to four requests. */
const LOOKS_PER_TICK = 20;
/** A provider that hangs holds a tick up for so many timeouts and no more. */
const UNREADABLE_PER_TICK = 3;

export class OrphanSweep {
  readonly #deps: OrphanDependencies;
  #running: Promise<void> | null = null;
  #deciding: Promise<void> | null = null;
  /** It was rung while decisions were being carried out. */
  #rung = false;
  #draining = false;
  #isRegistered = false;

  constructor(deps: OrphanDependencies) {
    this.#deps = deps;
  }

  /** Begins a sweep, unless one is under way here. Resolves at once: the queue does not wait for a provider. */
  tick(): Promise<void> {
    if (this.#running !== null || this.#draining) return Promise.resolve();
    this.#running = this.sweep()
      .catch((error: unknown) =>
        this.#deps.log.warn(
          { error: String(error) },
          'the two-sided sweep was broken off; a later tick goes on',
        ),
      )
      .finally(() => (this.#running = null));
    return Promise.resolve();
  }

  /** Begins to carry out what people decided. Resolves at once, like a tick; a ring meanwhile is kept. */
  decided(): Promise<void> {
    this.#rung = this.#deciding !== null;
    if (this.#rung || this.#draining) return Promise.resolve();
    this.#deciding = this.carryOut()
      .catch((error: unknown) =>
        this.#deps.log.warn({ error: String(error) }, 'decisions wait for a later tick'),
      )
      .finally(() => {
        this.#deciding = null;
        if (this.#rung) void this.decided();
      });
    return Promise.resolve();
  }

  /** Begins no more, and waits for the calls that are under way. */
  async drain(): Promise<void> {
    this.#draining = true;
    await Promise.all([this.#running, this.#deciding]);
  }

  /** What people decided, for all accounts that nobody holds; whoever sweeps an account carries it out between its calls. */
  async carryOut(): Promise<void> {
    const { sweeps, names, worker, lease_ms } = this.#deps;
    await this.#register();
    const claims = await sweeps.claim(names, worker, lease_ms, 'decided');
    await allOf(claims.map((claim) => this.#carryOut(claim)));
  }

  async #carryOut(claim: SweepClaim): Promise<void> {
    const { accounts, sweeps } = this.#deps;
    const provider = accounts.provider(claim.account);
    if (provider !== undefined && (await accounts.admit(claim.account, FOR_SWEEP)) === null)
      await carryOutDecided(claim, provider, () => this.#goesOn(claim), this.#deps);
    await sweeps.release(claim, null);
  }

  async #register(): Promise<void> {
    const { sweeps, names, interval_ms } = this.#deps;
    if (!this.#isRegistered) await sweeps.register(names, interval_ms / 2);
    this.#isRegistered = true;
  }

  /** One tick over all accounts that are due. Safe to repeat: what another process holds or has just done is left alone. */
  async sweep(): Promise<void> {
    const { sweeps, names, worker, lease_ms } = this.#deps;
    await this.#register();
    const claims = await sweeps.claim(names, worker, lease_ms);
    await allOf(claims.map((claim) => this.#sweepAccount(claim)));
  }

  async #sweepAccount(claim: SweepClaim): Promise<void> {
    const { accounts, sweeps, interval_ms } = this.#deps;
    const provider = accounts.provider(claim.account);
    if (provider === undefined || (await accounts.admit(claim.account, FOR_SWEEP)) !== null) {
      return sweeps.release(claim, interval_ms / 2);
    }
    const goesOn = (): Promise<boolean> => this.#goesOn(claim);
    const decide = (): Promise<boolean> => carryOutDecided(claim, provider, goesOn, this.#deps);
    // People wait for it: before and after what takes long.
    await decide();
    const listed = await this.#list(claim, provider);
    const looked = listed.goesOn && (await decide()) && (await this.#look(claim, provider, goesOn));
    if (looked && (await decide())) await lookForMissing(claim, provider, goesOn, this.#deps);
    // Ticks do not come to the millisecond, so the next one counts as early only well before its time.
    await sweeps.release(claim, listed.isBehind ? 0 : interval_ms / 2);
  }

  async #list(claim: SweepClaim, provider: PaymentProvider): Promise<{ goesOn: boolean; isBehind: boolean }> {
    let { progress } = claim;
    for (const pace of PACES) {
      for (let pages = 0, most = PAGES_PER_TICK; pages < most; pages += 1) {
        const round = roundOf(pace, progress, claim.now, this.#deps.pacing);
        // A round that ends leaves the next one to another tick.
        if (round === null || (pages > 0 && progress[pace] === null)) break;
        const next = this.#draining ? null : await this.#page(claim, provider, progress, pace, round);
        if (next === null) return { goesOn: false, isBehind: true };
        progress = next.progress;
        if (next.limited) most = PAGES_WHEN_LIMITED;
      }
    }
    return { goesOn: true, isBehind: PACES.some((pace) => progress[pace] !== null) };
  }

  /** One page: listed, compared with its records, written. Null: not now. */
  async #page(
    claim: SweepClaim,
    provider: PaymentProvider,
    progress: Progress,
    pace: Pace,
    round: Round,
  ): Promise<{ progress: Progress; limited: boolean } | null> {
    const { accounts, observer, log } = this.#deps;
    const { account } = claim;
    const { created_from, created_to, after } = round;
    const reading = await provider.list({ created_from, created_to, after });
    observer.request(account, 'list_payments', reading.kind);
    if (reading.kind === 'absent' && after !== null) {
      // Test data was deleted, or the key opens another account now: behind that payment nothing can be listed any more.
      log.warn({ account, payment: after }, 'the payment after which to list is gone; the round begins anew');
      return this.#pageWritten(claim, progress, anew(progress, pace, round));
    }
    if (reading.kind !== 'present') {
      const failure = reading.kind === 'unknown' ? await this.#failed(account, reading.failure) : null;
      log.warn({ account, code: failure?.code ?? 'absent' }, 'the provider’s payments could not be listed');
      return null;
    }
    await accounts.answered(account);
    const page = reading.value;
    if (page.unreadable.length > 0) {
      log.warn(
        { account, payments: page.unreadable },
        'payments that this version cannot read are not compared',
      );
    }
    const entry = await this.#compared(claim, progress, pace, round, page);
    return this.#pageWritten(claim, progress, entry);
  }

  async #pageWritten(
    claim: SweepClaim,
    before: Progress,
    entry: PageEntry,
  ): Promise<{ progress: Progress; limited: boolean } | null> {
    const leave = await this.#write(claim, before, entry);
    return leave?.free === true ? { progress: entry.progress, limited: leave.limited } : null;
  }

  /** A suspicion that Postgres refuses is told and left out: the page and what else it made suspicious are written. */
  async #write(claim: SweepClaim, before: Progress, entry: PageEntry): Promise<Leave> {
    const { sweeps, lease_ms, log } = this.#deps;
    try {
      return await sweeps.page(claim, lease_ms, entry);
    } catch (error) {
      if (!isRefused(error) || entry.suspicions.length === 0) throw error;
    }
    const still = { progress: before, recent_ended: false, lookback_totals: null, references: [] };
    for (const suspicion of entry.suspicions) {
      await sweeps.page(claim, lease_ms, { ...still, suspicions: [suspicion] }).catch((error: unknown) => {
        if (!isRefused(error)) throw error;
        const about = { account: claim.account, payment: suspicion.reference, kind: suspicion.kind };
        log.error({ ...about, error: nameOf(error) }, 'a suspicion could not be noted');
      });
    }
    const suspected = new Set(entry.suspicions.map(({ reference }) => reference));
    const references = entry.references.filter((reference) => !suspected.has(reference));
    return sweeps.page(claim, lease_ms, { ...entry, references, suspicions: [] });
  }

  async #compared(
    { account, now }: SweepClaim,
    progress: Progress,
    pace: Pace,
    round: Round,
    page: PaymentPage,
  ): Promise<PageEntry> {
    const { findings, exclusive, grace_ms, log } = this.#deps;
    const references = page.payments.map(({ payment }) => payment.reference);
    const named = page.payments.map(({ payment }) => payment.operation_id).filter(couldBeOurs);
    const records = await findings.matching(account, references, named);
    const rules = { account, exclusive: exclusive.has(account), grace_ms };
    const { drafts, totals, unjudged } = compareEach(page.payments, records, rules);
    for (const { reference, error } of unjudged) {
      log.error({ account, payment: reference, error }, 'a payment could not be compared; the others are');
    }
    const walked = afterPage(round, { last: page.last, payments: references.length, totals });
    const begun: Progress =
      pace === 'lookback' && progress.lookback === null
        ? { ...progress, lookback_began_at: now.toISOString() }
        : progress;
    const ended = !page.has_more;
    return {
      progress: {
        ...begun,
        [pace]: ended ? null : walked,
        ...(ended && pace === 'recent' && { listed_until: listedBy(walked) }),
      },
      recent_ended: ended && pace === 'recent',
      lookback_totals: ended && pace === 'lookback' ? walked.totals : null,
      suspicions: drafts,
      references,
    };
  }

  /** Works off what is due for a look. False: nothing more is to be asked now. */
  async #look(claim: SweepClaim, provider: PaymentProvider, goesOn: GoesOn): Promise<boolean> {
    let unreadable = 0;
    for (const due of await this.#deps.findings.due(claim.account, LOOKS_PER_TICK)) {
      if (!(await goesOn())) return false;
      const look = await this.#lookAt(due, claim, provider, goesOn);
      if (look === 'stopped') return false;
      if (look === 'unreadable' && (unreadable += 1) >= UNREADABLE_PER_TICK) break;
    }
    return true;
  }

  /** What goes wrong with one payment is told, and it is looked at later: it would be the first of every tick. */
  async #lookAt(due: DueLook, claim: SweepClaim, provider: PaymentProvider, goesOn: GoesOn): Promise<Look> {
    try {
      return await lookAt(due, claim, provider, goesOn, this.#deps);
    } catch (error) {
      if (isAway(error)) throw error;
      const about = { account: claim.account, payment: due.reference };
      this.#deps.log.error({ ...about, error: nameOf(error) }, 'a payment could not be judged');
      await this.#deps.findings.postpone(claim, due.reference, this.#deps.interval_ms);
      return 'unreadable';
    }
  }

  async #goesOn(claim: SweepClaim): Promise<boolean> {
    const { sweeps, lease_ms } = this.#deps;
    return !this.#draining && (await sweeps.renew(claim, lease_ms))?.free === true;
  }

  /** A key that may not list may still serve orders: that listing is refused must not stop them. */
  async #failed(account: string, failure: Failure): Promise<Failure> {
    if (failure.class === 'authorization') return failure;
    return this.#deps.accounts.failed({ account, operation: FOR_SWEEP, step: null }, failure);
  }
}

/** The same window once more from its newest payment, with nothing of it counted yet. */
const anew = (progress: Progress, pace: Pace, round: Round): PageEntry => ({
  progress: { ...progress, [pace]: { ...round, after: null, payments: 0, totals: {} } },
  recent_ended: false,
  lookback_totals: null,
  suspicions: [],
  references: [],
});

/** All of them end, also when one fails. */
async function allOf(works: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** An id that no operation can have is one of another system. */
const couldBeOurs = (id: string | null): id is string => id !== null && OperationId.safeParse(id).success;
