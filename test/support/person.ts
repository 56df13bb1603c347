/**
 * A person who was not there when the orders broke, as a script: it knows nothing but what the API says, and takes of each
 * handover the first safe step that is more than looking.
 */
import { BulkOut, BulkPreviewOut } from '../../src/api/schemas/bulk.js';
import { HandoverOut } from '../../src/api/schemas/handover.js';
import { OperationOut } from '../../src/api/schemas/operation.js';
import { pathOf } from './api.js';
import { commanded, previewed } from './desk.js';
import type { Answer, Client } from './http.js';

type Act = HandoverOut['safe_next'][number]['act'];

export interface Person {
  readonly support: Client;
  readonly lead: Client;
  readonly checkout: Client;
  /** Until what was begun has come to rest. */
  rest(): Promise<void>;
}

export interface Deed {
  readonly operation_id: string;
  /** As the handover named it. */
  readonly reason: string;
  readonly act: Act | 'give_up';
}

/** A stopped account holds up whatever else is done for its orders. */
const QUEUES = ['reason=AccountPaused', 'attention=true', 'reason=Paused'];
/** They move nothing, or are done outside of the API. */
const LOOKING: ReadonlySet<Act> = new Set([
  'wait',
  'read_plan',
  'look_at_provider',
  'ask_customer',
  'ask_warehouse',
  'raise_brake',
  'repair_credential',
  'upgrade',
  'upgrade_service',
  'answer_dispute',
]);
/** The same for every order, so asked for in one list. */
const IN_BULK: ReadonlySet<Deed['act']> = new Set(['retry', 'resume']);
const MOST_ROUNDS = 6;
const MOST_POLLS = 100;

function good(answer: Answer, ...statuses: number[]): Answer {
  if (!statuses.includes(answer.status)) throw new Error(`${answer.status}: ${answer.text}`);
  return answer;
}

/** All that was done, in order; ends when nothing is left in the queues. */
export async function resolveAll(person: Person): Promise<Deed[]> {
  const deeds: Deed[] = [];
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    let found = 0;
    for (const queue of QUEUES) {
      const handovers = await handoversOf(person, queue);
      found += handovers.length;
      const chosen = handovers.map((handover) => ({ handover, act: choose(handover, deeds) }));
      deeds.push(
        ...chosen.map(({ handover: { operation_id, reason }, act }) => ({ operation_id, reason, act })),
      );
      for (const act of IN_BULK) {
        const alike = chosen.filter((one) => one.act === act);
        if (alike.length > 0)
          await doAll(
            person,
            act,
            alike.map(({ handover }) => handover.operation_id),
          );
      }
      for (const { handover, act } of chosen) if (!IN_BULK.has(act)) await doOne(person, handover, act);
      await person.rest();
    }
    if (found === 0) return deeds;
  }
  throw new Error(`not resolved: ${JSON.stringify(deeds.slice(-20))}`);
}

async function handoversOf({ support }: Person, queue: string): Promise<HandoverOut[]> {
  const handovers: HandoverOut[] = [];
  for (let cursor = ''; ;) {
    const answer = good(await support('GET', `/v1/operations?${queue}&limit=5${cursor}`), 200);
    const page = answer.json<{ items: { operation_id: string }[]; next_cursor: string | null }>();
    for (const { operation_id } of page.items)
      handovers.push(
        HandoverOut.parse(good(await support('GET', pathOf(operation_id, '/handover')), 200).json()),
      );
    if (page.next_cursor === null) return handovers;
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
}

/** What was tried for this reason and did not help is not tried again; where only looking is left, a lead closes it. */
function choose(handover: HandoverOut, deeds: readonly Deed[]): Deed['act'] {
  const tried = deeds
    .filter(
      ({ operation_id, reason }) => operation_id === handover.operation_id && reason === handover.reason,
    )
    .map(({ act }) => act);
  const safe = handover.safe_next.filter(
    ({ act, available }) => available && !LOOKING.has(act) && !tried.includes(act),
  );
  return safe[0]?.act ?? 'give_up';
}

async function doAll(person: Person, command: Deed['act'], operation_ids: readonly string[]): Promise<void> {
  const body = { command, operation_ids };
  const answer = good(await person.support('POST', '/v1/bulk-commands/preview', { body }), 201);
  const { bulk_id, excluded } = BulkPreviewOut.parse(answer.json());
  if (excluded.length > 0) throw new Error(JSON.stringify(excluded));
  const reason = 'what stopped them is repaired';
  good(await person.support('POST', '/v1/bulk-commands', { body: { bulk_id, reason } }), 202);
  for (let poll = 0; poll < MOST_POLLS; poll += 1) {
    const now = good(await person.support('GET', `/v1/bulk-commands/${bulk_id}`), 200);
    if (BulkOut.parse(now.json()).state === 'ended') return;
    await person.rest();
  }
  throw new Error('the bulk command does not end');
}

async function doOne(person: Person, handover: HandoverOut, act: Deed['act']): Promise<void> {
  const { operation_id, observed, account } = handover;
  const post = async (path: string, body: object): Promise<void> => {
    good(await person.checkout('POST', pathOf(operation_id, path), { body }), 200, 202);
  };
  const command = async (parameters: object, by: Client = person.support): Promise<void> => {
    const preview = previewed(
      await by('POST', pathOf(operation_id, '/commands/preview'), { body: { command: act, parameters } }),
    );
    const reason = `${handover.reason}: ${preview.effects[0] ?? ''}`.slice(0, 400);
    const body = { preview_id: preview.preview_id, reason };
    commanded(await by('POST', pathOf(operation_id, '/commands'), { body }));
  };
  const read = async (): Promise<OperationOut> =>
    OperationOut.parse(good(await person.support('GET', pathOf(operation_id)), 200).json());
  const ways: Partial<Record<Deed['act'], () => Promise<void>>> = {
    async retry_refund() {
      const { status } = await read();
      await command({ refund_id: status.refunds.find(({ state }) => state === 'failed')?.refund_id });
    },
    reauthorize: () => command({ payment_method: 'pm_card_mastercard' }),
    // Whoever asked the customer took a note.
    adopt_payment: () =>
      command({ reference: /\bpi_\w+/.exec(handover.triage.notes.at(-1)?.note ?? '')?.[0] }),
    record_outcome() {
      const doubted = handover.attempts.findLast(({ outcome }) => outcome === 'unknown');
      const outcome = observed.payment.state === 'captured' ? 'done' : 'no_effect';
      const evidence = `${observed.payment.reference ?? ''} reads ${observed.payment.state}`;
      return command({ step: doubted?.step, outcome, evidence }, person.lead);
    },
    async release_finalizer() {
      const [finalizer] = (await read()).status.cancellation?.finalizers ?? [];
      await command({ name: finalizer?.name, left_behind: handover.message }, person.lead);
    },
    give_up: () => command({ verdict: 'known_deviation' }, person.lead),
    cancel: () => post('/cancel', { reason: handover.reason }),
    pay_again: () => post('/payment', {}),
    capture: () => post('/capture', {}),
    async lower_amount() {
      const { etag = '' } = (await person.checkout('GET', pathOf(operation_id))).headers;
      const body = { amount: { value: observed.payment.authorized } };
      const patch = { body, headers: { 'if-match': etag } };
      good(await person.checkout('PATCH', pathOf(operation_id), patch), 200);
    },
    async refund_difference() {
      const { captured, refunded } = observed.payment;
      const amount = captured - refunded - handover.intent.amount.value;
      await post('/refunds', { refund_id: 'difference', amount });
    },
    async resume_account() {
      const body = { reason: 'the price list is right again' };
      good(await person.lead('POST', `/v1/accounts/${account}/resume`, { body }), 200);
    },
  };
  const way = ways[act];
  if (way === undefined) throw new Error(`${operation_id}: nobody said how to ${act}`);
  await way();
}
