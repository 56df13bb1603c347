/** What a pass knows is written to its record, with patience for a database that restarts. */
import { persistently } from '../persistently.js';
import { isRefused } from '../store/database.js';
import { isTakenPayment, type Entry, type Recorded } from '../store/pass-store.js';
import { isChanged, withStatus, withTakenPayment, type Pass } from './pass.js';
import type { LoopDependencies } from './ports.js';

/**
 * Writes what the pass knows. Null: the payment that it was to have is recorded as another order's; that is written
 * instead, and the pass is over.
 */
export async function write(
  pass: Pass,
  next: Entry['next'],
  loop: LoopDependencies,
): Promise<Recorded | null> {
  try {
    return await writeEntry(pass, next, loop);
  } catch (error) {
    const { provider_reference: reference } = pass.operation;
    const isTaken = isTakenPayment(error) && reference !== null;
    const other = isTaken ? await patiently(() => loop.store.ownerOf(pass.row, reference), loop) : null;
    if (other === null) throw error;
    const taken = withStatus(withTakenPayment(pass, other), loop.clock.now(), loop.policy);
    await writeEntry(taken, { kind: 'release', look_in_ms: 0 }, loop);
    return null;
  }
}

/** An answer that comes after the lease was lost is kept, and wakes the record. */
async function writeEntry(pass: Pass, next: Entry['next'], loop: LoopDependencies): Promise<Recorded> {
  const { operation } = pass;
  const entry: Entry = {
    row: pass.row,
    worker: loop.worker,
    fencing_token: pass.fencing_token,
    resource_version: pass.resource_version,
    generation: operation.generation,
    facts: operation.facts,
    status: operation.status,
    provider_reference: operation.provider_reference,
    // An intent is a change by itself.
    changed: next.kind === 'intent' || isChanged(pass),
    completed: pass.completed,
    resolved: pass.resolved,
    events: pass.events,
    transitions: pass.transitions,
    next,
  };
  const recorded = await patiently(
    (again) => (again ? loop.store.recordAgain(entry) : loop.store.record(entry)),
    loop,
  );
  if (!recorded.held) {
    loop.log.warn(
      { operation_id: operation.operation_id },
      'the lease was lost; another pass goes on by reading',
    );
    if (pass.completed !== null) await patiently(() => loop.store.wake([pass.row]), loop);
  }
  return recorded;
}

/** What was just learnt is worth some patience with a database that restarts, none with one that refuses it. */
export const patiently = <Result>(
  statement: (again: boolean) => Promise<Result>,
  { log }: LoopDependencies,
): Promise<Result> =>
  persistently(statement, {
    isFutile: isRefused,
    onFailure: (error, tries) => log.warn({ error: String(error), tries }, 'a write failed and is repeated'),
  });
