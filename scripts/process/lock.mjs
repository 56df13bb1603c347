// A lock between processes: a file that names its owner and is worth nothing once the owner is dead.
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { bornAt } from './identity.mjs';

const isAlive = ({ pid, born }) => pid !== process.pid && born !== null && bornAt(pid) === born;

/** `{release}` when the lock is ours now, `{owner}` (a pid) when a living process has it. */
export function tryLock(file) {
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, JSON.stringify({ pid: process.pid, born: bornAt(process.pid) }));
  try {
    for (;;) {
      try {
        // Linking makes the name and its content appear together; a created file would be empty for a moment.
        linkSync(mine, file);
        return { release: releaseOnce(file) };
      } catch (error) {
        if (error.code !== 'EEXIST') throw error;
      }
      const owner = readOwner(file);
      if (owner && isAlive(owner)) return { owner: owner.pid };
      if (owner) discard(file, owner);
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

/** A second call must not remove what is somebody else's lock by then. */
function releaseOnce(file) {
  let isHeld = true;
  return () => {
    if (isHeld) rmSync(file, { force: true });
    isHeld = false;
  };
}

/** Waits until the lock is ours; `onWait(pid)` is called once when somebody else has it. */
export async function waitForLock(file, { signal, onWait }) {
  for (let waited = false; ; waited = true) {
    const lock = tryLock(file);
    if (lock.release) return lock;
    if (!waited) onWait(lock.owner);
    await sleep(200, undefined, { signal });
  }
}

function readOwner(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    // Not written by us, or cut short by a full disk: it names nobody who could be alive.
    return { pid: 0, born: 'unreadable' };
  }
}

/** Takes a dead owner's lock away, but not the one that a quicker process has put in its place meanwhile. */
function discard(file, dead) {
  const aside = `${file}.dead.${process.pid}`;
  try {
    renameSync(file, aside);
    const taken = readOwner(aside);
    if (taken.pid !== dead.pid || taken.born !== dead.born) linkSync(aside, file);
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}
