// Which contestant is measured when.
import { loadavg } from 'node:os';
import { CONTESTANTS } from './options.mjs';
import { bareApi } from './contestants/bare-api.mjs';
import { productIn } from './contestants/product.mjs';
import { yardstick } from './contestants/yardstick.mjs';
import { dropDatabase, emptyDatabase, vacuum } from './services.mjs';
import { measureClaim } from './phases/claim.mjs';
import { measureCost } from './phases/cost.mjs';
import { measureCreates } from './phases/create.mjs';
import { measureEndurance } from './phases/endurance.mjs';
import { measureLatency } from './phases/latency.mjs';
import { measureMix } from './phases/mix.mjs';
import { measureRecovery } from './phases/recovery.mjs';
import { measureThroughput } from './phases/throughput.mjs';

/** What a phase measures, by the name of its results. */
const MEASUREMENTS = {
  create: { create: measureCreates },
  tput: { tput: (arena, run) => measureThroughput(arena, run) },
  lat: {
    lat50: (arena, run) => measureLatency(arena, run, 50),
    lat400: (arena, run) => measureLatency(arena, run, 400),
  },
  cost: { cost: measureCost },
  mix: { mix: measureMix },
  rec: { rec: measureRecovery },
  claim: { claim: measureClaim },
  long: { long: measureEndurance },
};

/** These leave processes or a database behind that no other phase can use. */
const APART = new Set(['create', 'claim', 'long']);
/** The same each time, or too long to be repeated. */
const MEASURED_ONCE = new Set(['cost', 'claim', 'long']);
/** What only the product has: the yardsticks neither claim, nor can they cancel or refund. */
const OF_THE_PRODUCT = new Set(['claim', 'mix']);

/** `{contestants, results, failures}`, given to `save` after each turn; a contestant that fails loses its round, not the others'. */
export async function runRounds(arena, save) {
  const { options, lifetime, say } = arena;
  const contestants = contestantsOf(arena);
  const results = Object.fromEntries(contestants.map(({ name }) => [name, {}]));
  const failures = [];
  const described = contestants.map(({ name, processes, uses }) => ({ name, processes, uses }));
  const rounds = { contestants: described, results, failures };
  for (let round = 0; round < options.reps; round += 1) {
    for (let turn = 0; turn < contestants.length; turn += 1) {
      const contestant = contestants[(round + turn) % contestants.length];
      say(`round ${round + 1}: ${contestant.name} (load ${loadavg()[0].toFixed(1)})`);
      try {
        await takeTurn(arena, contestant, results[contestant.name], round);
      } catch (error) {
        lifetime.signal.throwIfAborted();
        say(`${contestant.name}: ${error.stack}`);
        failures.push({ round, contestant: contestant.name, error: String(error) });
      }
      save(rounds);
    }
  }
  return rounds;
}

function contestantsOf({ root, options }) {
  const known = {
    product: productIn(root, 'product'),
    minimal: yardstick('minimal', 'single'),
    batching: yardstick('batching', 'batched'),
  };
  const chosen = [
    ...CONTESTANTS.filter((name) => options.only.includes(name)).map((name) => known[name]),
    ...(options.baseline === null ? [] : [productIn(options.baseline, 'baseline')]),
  ];
  const built = chosen.find(({ folder }) => folder !== undefined);
  return options.phases.includes('create') && built !== undefined
    ? [bareApi(built.folder), ...chosen]
    : chosen;
}

/** One turn of one contestant: the phases that can share processes do. */
async function takeTurn(arena, contestant, results, round) {
  const phases = arena.options.phases.filter(
    (phase) =>
      (round === 0 || !MEASURED_ONCE.has(phase)) &&
      (contestant.phases?.includes(phase) ?? true) &&
      (contestant.folder !== undefined || !OF_THE_PRODUCT.has(phase)),
  );
  for (const phase of phases.filter((each) => APART.has(each)))
    await measure(arena, contestant, [phase], results, { withWorker: phase !== 'create', warm: 0 });
  const together = phases.filter((each) => !APART.has(each));
  if (together.length > 0)
    await measure(arena, contestant, together, results, { withWorker: true, warm: arena.options.warm });
}

async function measure(arena, contestant, phases, results, { withWorker, warm }) {
  const { services, options, world } = arena;
  const database = `bench_${contestant.name}`;
  const url = await emptyDatabase(services.postgres, database);
  await services.redis.admin.flushall();
  await world.reset(options.latency);
  const run = await contestant.start(arena, url, { withWorker });
  try {
    if (warm > 0) await measureThroughput(arena, run, warm);
    for (const phase of phases) {
      for (const [name, measurement] of Object.entries(MEASUREMENTS[phase])) {
        // So that every window begins with the same debts.
        await vacuum(url);
        await services.postgres.admin.query('CHECKPOINT');
        (results[name] ??= []).push(await measurement(arena, run, database, contestant));
      }
    }
  } finally {
    await run.stop();
    await dropDatabase(services.postgres, database);
  }
}
