/** Writing wishes: read, decide, write under the version that was read; a lost race starts anew. */
import { Inject, Injectable } from '@nestjs/common';
import type { Clock } from '../../clock.js';
import { withTask } from '../../operation/absorb-journal.js';
import { refused, sameSpec, type Asking, type Change, type Refused } from '../../operation/change.js';
import { INITIAL_STATUS, nextStatus } from '../../operation/next-status.js';
import { NO_FACTS, readable, type Operation, type Policy, type Wish } from '../../operation/operation.js';
import { erased, ERASURES } from '../../operation/personal-data.js';
import { newSpecProblems } from '../../operation/spec-rules.js';
import type { Spec } from '../../operation/spec.js';
import type { Bell } from '../../reconciler/bell.js';
import { transitions } from '../../reconciler/events.js';
import type { OperationStore } from '../../store/operation-store.js';
import type { OperationRecord } from '../../store/record.js';
import type { AmountProblem } from '../dependencies.js';
import { actorOf, type Caller } from '../http/authentication.js';
import { checkIfMatch, versionMismatch, type IfMatch } from '../http/if-match.js';
import { invalidRequest, operationNotFound, ProblemError, unavailable } from '../http/problem.js';
import type { CreateBody } from '../schemas/requests.js';
import { ACCOUNTS, AMOUNT_PROBLEM, BELL, CLOCK, POLICY, STORE } from '../tokens.js';
import { inexactAmounts } from './exact-amounts.js';

/** Each lost race means that somebody else's write went through; so many in a row is a storm on one order. */
const MOST_TRIES = 100;
/** Spreads the losers of a race a little, from the third try on. */
const JITTER_MS = 10;

/** What a request does to the record as it was just read. */
export type Decide = (operation: Operation, asking: Asking) => Change;

export interface ChangeOptions {
  readonly ifMatch?: IfMatch | undefined;
  /** Where the amount stands in the body of the request, when that is not a patch of the spec. */
  readonly amountPointer?: string;
}

@Injectable()
export class Writes {
  constructor(
    @Inject(STORE) private readonly store: OperationStore,
    @Inject(BELL) private readonly bell: Bell,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(POLICY) private readonly policy: Policy,
    @Inject(ACCOUNTS) private readonly accounts: readonly string[],
    @Inject(AMOUNT_PROBLEM) private readonly amountProblem: AmountProblem,
  ) {}

  /** `created` false: the same request was stored before. Throws problems, 409 among them. */
  async create(body: CreateBody, caller: Caller): Promise<{ record: OperationRecord; created: boolean }> {
    this.checkNew(body);
    const now = this.clock.now();
    const wish = wishOf(body.spec, caller, now);
    const { operation_id, account, labels } = body;
    const created_at = now.toISOString();
    const operation: Operation = {
      operation_id,
      account,
      created_at,
      generation: 1,
      wish,
      provider_reference: null,
      facts: NO_FACTS,
      status: INITIAL_STATUS,
    };
    const answer = await this.store.create({
      operation_id,
      account,
      labels,
      wish,
      status: nextStatus(operation, now, this.policy),
      requested_by: actorOf(caller),
      created_at,
    });
    switch (answer.kind) {
      case 'created':
        this.bell.ring();
        return { record: answer.record, created: true };
      case 'order_taken':
        throw new ProblemError(
          'operation_conflict',
          `Operation "${answer.operation_id}" has this order already.`,
        );
      case 'exists':
        if (
          answer.record.account === account &&
          sameSpec(answer.first_spec, asKept(body.spec, answer.record))
        ) {
          return { record: answer.record, created: false };
        }
        throw new ProblemError(
          'operation_conflict',
          'This operation was created with another spec or account.',
        );
    }
  }

  /**
   * Applies a change to the record as it is at the moment of the write. With a version to match, a race that is lost
   * is a 412; without one the request is decided anew on what won.
   */
  async change(
    operationId: string,
    caller: Caller,
    decide: Decide,
    options: ChangeOptions = {},
  ): Promise<OperationRecord> {
    const { ifMatch } = options;
    for (let tried = 1; tried <= MOST_TRIES; tried++) {
      const record = await this.store.find(operationId);
      if (record === null) throw operationNotFound();
      checkIfMatch(ifMatch, record.resource_version);
      const asking: Asking = { by: caller.name, now: this.clock.now(), policy: this.policy };
      // A step in progress may have taken effect: rules and status must not be blind to it.
      const seen = withTask(readable(record), record.task, asking.now);
      const change = this.exact(record, decide(seen, asking), options.amountPointer);
      if (change.kind === 'unchanged') return record;
      if (change.kind === 'refused') throw refusal(change);
      const after: Operation = {
        ...seen,
        wish: change.wish,
        generation: record.generation + (change.spec_changed ? 1 : 0),
      };
      const status = nextStatus(after, asking.now, this.policy);
      const stored = await this.store.changeWish({
        operation_id: operationId,
        resource_version: record.resource_version,
        wish: change.wish,
        status,
        transitions: transitions(record.status, status),
        spec_changed: change.spec_changed,
        event: { ...change.event, actor: actorOf(caller) },
      });
      if (stored !== null) {
        this.bell.ring();
        return stored;
      }
      if (ifMatch?.kind === 'versions') throw await this.lost(operationId, record);
      if (tried > 2) await new Promise((resolve) => setTimeout(resolve, this.clock.random() * JITTER_MS));
    }
    throw unavailable('The operation is being changed by many requests at once; nothing was stored.');
  }

  private async lost(operationId: string, before: OperationRecord): Promise<ProblemError> {
    const current = (await this.store.find(operationId)) ?? before;
    return versionMismatch(current.resource_version);
  }

  private checkNew({ account, spec }: CreateBody): void {
    const problems = [...newSpecProblems(spec), ...inexactAmounts(spec, this.amountProblem)].map(
      (problem) => ({
        ...problem,
        pointer: `/spec${problem.pointer}`,
      }),
    );
    if (!this.accounts.includes(account)) {
      problems.push({ pointer: '/account', detail: 'is not a configured account' });
    }
    if (problems.length > 0) throw invalidRequest(problems);
  }

  /** Amounts that are new in the spec must be possible at the provider, too. */
  private exact(before: Operation, change: Change, amountPointer: string | undefined): Change {
    if (change.kind !== 'changed') return change;
    const known = new Set(inexactAmounts(before.wish.spec, this.amountProblem).map(({ pointer }) => pointer));
    const problems = inexactAmounts(change.wish.spec, this.amountProblem)
      .filter(({ pointer }) => !known.has(pointer))
      .map(({ pointer, detail }) => ({ pointer: amountPointer ?? pointer, detail }));
    if (problems.length === 0) return change;
    return refused('invalid_request', 'The provider cannot express this amount exactly.', problems);
  }
}

/** `desired: cancelled` from the start is an order that is born cancelling. */
function wishOf(spec: Spec, caller: Caller, now: Date): Wish {
  const cancelled = spec.desired === 'cancelled';
  return {
    spec,
    cancellation: cancelled ? { requested_at: now.toISOString(), by: caller.name, reason: null } : null,
    paused: null,
    confirmation: 1,
    payment_number: 1,
  };
}

/** Of an order whose personal data was erased, what is left is compared: it was paid once, whoever asks again. */
const asKept = (spec: Spec, { erased_at }: OperationRecord): Spec =>
  erased_at === undefined ? spec : erased(spec, ERASURES.order_operations.spec);

const refusal = ({ code, detail, pointers }: Refused): ProblemError =>
  new ProblemError(code, detail, pointers === undefined ? {} : { errors: pointers });
