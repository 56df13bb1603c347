// Which process is meant by a pid that was written down earlier.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * When the process was born, as an opaque word, or null when it does not live (a zombie does not). Pids are
 * reused, in containers at once, so a pid is believed only together with this.
 */
export function bornAt(pid) {
  if (process.platform === 'linux') {
    let stat;
    try {
      stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    } catch {
      return null;
    }
    // The second field is the program's name in parentheses and may hold anything; count from its end.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? null : fields[19];
  }
  return spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim() || null;
}
