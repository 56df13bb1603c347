// A server that outlived everything meant to stop it (all Node processes were killed, say) still uses the kept data.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { bornAt } from '../process/identity.mjs';
import { Unavailable } from '../process/lifetime.mjs';
import { waitUntil } from './probe.mjs';

/** Writes down who serves the data beside `file`. */
export function rememberServer(file, pid) {
  writeFileSync(file, JSON.stringify({ pid, born: bornAt(pid) }));
}

/** Stops the server that was written down, if it still lives. */
export async function stopLeftover(file, { stopSignal, lifetime }) {
  if (!existsSync(file)) return;
  const { pid, born } = JSON.parse(readFileSync(file, 'utf8'));
  const isRunning = () => born !== null && bornAt(pid) === born;
  if (!isRunning()) return;
  process.kill(pid, stopSignal);
  const hasEnded = await waitUntil(() => !isRunning(), { signal: lifetime.signal, timeoutMs: 15_000 });
  if (!hasEnded)
    throw new Unavailable(`a server left over from an earlier start does not stop: process ${pid}.`);
}
