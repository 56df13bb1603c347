// npm run bench: the product beside hand-written loops that make the same calls, on services of its own.
//
// Contestants run one after another, in an order that is rotated with each repetition, each on an empty database.
import '../scripts/node-version.mjs';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { prepareBuild, prepareDependencies } from '../scripts/prepare.mjs';
import { runCommand, Unavailable } from '../scripts/process/lifetime.mjs';
import { readOptions, USAGE } from './options.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const say = (line) => console.error(line);
/** Above it, others use so much of the machine that the figures would be theirs. */
const BUSY_LOAD = 1.5 * cpus().length;

await runCommand('npm run bench', async (lifetime) => {
  const options = readOptions(root, process.argv.slice(2));
  if (options === null) {
    console.log(USAGE);
    return 0;
  }
  await prepareDependencies({ root, lifetime, say });
  if (options.only.includes('product')) await prepareBuild({ root, lifetime, say });
  const [load] = loadavg();
  if (load > BUSY_LOAD && !options.force)
    throw new Unavailable(`the machine is busy (load ${load.toFixed(1)}); --force measures all the same`);

  // They import the drivers, which are there by now.
  const { openArena } = await import('./arena.mjs');
  const { runRounds } = await import('./rounds.mjs');
  const { tableOf } = await import('./table.mjs');
  const arena = await openArena({ root, options, lifetime, say });
  mkdirSync(dirname(options.out), { recursive: true });
  const began = new Date();
  // After every turn, so that a run that is broken off has told what it measured.
  const save = (rounds) => {
    const machine = {
      cores: cpus().length,
      node: process.version,
      load_before: load,
      load_now: loadavg()[0],
    };
    writeFileSync(options.out, JSON.stringify({ began, options, machine, ...rounds }, null, 1));
  };
  const { contestants, results, failures } = await runRounds(arena, save);
  for (const { name, processes, uses } of contestants) console.log(`${name}: ${processes} on ${uses}`);
  console.log(`\n${tableOf(results)}\n\nfigures of every repetition: ${options.out}`);
  return failures.length === 0 ? 0 : 1;
});
