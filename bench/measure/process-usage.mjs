// CPU time and memory of processes, out of /proc.
import { readFileSync, readdirSync } from 'node:fs';

/** The kernel's unit for times in /proc/…/stat; 100 a second on every Linux that Node runs on. */
const TICK_MS = 10;

function stat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name before may hold spaces.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    return {
      parent: fields[1],
      own: (fields[11] + fields[12]) * TICK_MS,
      waited: (fields[13] + fields[14]) * TICK_MS,
    };
  } catch {
    return null;
  }
}

/** Milliseconds of one process. */
export const cpuMs = (pid) => stat(pid)?.own ?? 0;

/** The same for a server with one process a connection: those that run, and those that have ended. */
export function cpuMsOfFamily(pid) {
  const parent = stat(pid);
  if (parent === null) return 0;
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(stat)
    .filter((child) => child?.parent === pid);
  return children.reduce((sum, child) => sum + child.own, parent.own + parent.waited);
}

/** Resident memory now, in MB. */
export function residentMb(pid) {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;
  } catch {
    return null;
  }
}

/** What the whole machine has worked since it started. */
export function machineMs() {
  const [line] = readFileSync('/proc/stat', 'utf8').split('\n');
  const [user, nice, system, , , interrupts, softInterrupts] = line.trim().split(/\s+/).slice(1).map(Number);
  return (user + nice + system + interrupts + softInterrupts) * TICK_MS;
}
