/** The way of one request: outage, fault, service, journal, and how the caller's side ends. */
import { type ServerResponse } from 'node:http';
import { FAULTS, type FaultPlan, type Finish } from '../faults/kinds.js';
import { type Outages } from '../faults/outages.js';
import { type FaultRules } from '../faults/rules.js';
import { type Journal, type JournalEntry } from '../journal.js';
import { type World } from '../world.js';
import { type Answer, type Exchange, writeAnswer } from './exchange.js';
import { AS_USUAL, type Call, type Surface } from './surface.js';

export class Flow {
  constructor(
    readonly world: World,
    readonly journal: Journal,
    readonly faults: FaultRules,
    readonly outages: Outages,
  ) {}

  async serve(surface: Surface, exchange: Exchange, response: ServerResponse): Promise<void> {
    const call = surface.open(exchange);
    const entry = this.journal.open({
      route: call.route,
      method: exchange.method,
      path: exchange.query === '' ? exchange.path : `${exchange.path}?${exchange.query}`,
      operation_id: call.operationId,
      idempotency_key: call.idempotencyKey,
      request_id: call.requestId,
    });
    const outage = this.outages.verdict(surface.name);
    if (outage) {
      entry.fault = outage.mode;
      end(response, entry, outage.answer);
      return;
    }
    await this.#withFault(surface, call, entry, response);
  }

  async #withFault(
    surface: Surface,
    call: Call,
    entry: JournalEntry,
    response: ServerResponse,
  ): Promise<void> {
    const rule = this.faults.take(surface.name, call);
    const plan: FaultPlan = rule
      ? FAULTS[rule.kind].plan(rule, surface.name)
      : { serve: AS_USUAL, finish: (genuine) => genuine ?? NO_ANSWER };
    entry.fault = rule?.kind ?? null;
    let genuine: Answer | null = null;
    if (plan.serve) {
      const served = await call.run(plan.serve);
      genuine = served.answer;
      entry.replayed = served.replayed;
      entry.had_effect = served.hadEffect;
    } else {
      await this.world.pause(rule?.delay_ms ?? 0);
    }
    end(response, entry, finished(plan.finish, genuine));
  }
}

const NO_ANSWER: Answer = { status: 500, headers: {}, body: '' };

function finished(finish: Finish, genuine: Answer | null): Answer | 'drop' | 'hang' {
  return typeof finish === 'function' ? finish(genuine) : finish;
}

function end(response: ServerResponse, entry: JournalEntry, answer: Answer | 'drop' | 'hang'): void {
  // A request that hangs is ended by the caller, or by stopping the sandbox.
  if (answer === 'hang') return;
  if (answer === 'drop') {
    response.socket?.destroy();
    return;
  }
  entry.status = answer.status;
  writeAnswer(response, answer);
}
