// The last to leave: started beside each command, it waits for the end of its input. That end comes however
// the command ends, also by SIGKILL, and whatever is then still on the list is stopped and removed.
// Input: one JSON line per change, {add: pid, stopSignal} | {remove: pid} | {folder: path}.
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { bornAt } from './identity.mjs';

const GRACE_MS = 8000;
const children = new Map();
const folders = new Set();

for await (const line of createInterface({ input: process.stdin })) {
  const change = JSON.parse(line);
  if (change.add) children.set(change.add, { born: bornAt(change.add), stopSignal: change.stopSignal });
  if (change.remove) children.delete(change.remove);
  if (change.folder) folders.add(change.folder);
}

const isAlive = ([pid, { born }]) => born !== null && bornAt(pid) === born;
const left = [...children].filter(isAlive);

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch {
    // It ended by itself between the look and the signal.
  }
}

for (const [pid, { stopSignal }] of left) signal(pid, stopSignal);
for (const end = Date.now() + GRACE_MS; left.some(isAlive) && Date.now() < end;) await sleep(100);
// Those that did not stop, and what those that did have left behind in their groups.
for (const [pid] of left) signal(-pid, 'SIGKILL');
for (const folder of folders) rmSync(folder, { recursive: true, force: true });
