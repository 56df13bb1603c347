// npm test: all tests, on a Postgres and a Redis of their own that are thrown away afterwards. Arguments go to Jest.
//
// NO_BUILD=1 leaves the build out, for the short rounds of tests that do not start the built program.
// ALLOW_NO_REDIS=1 accepts that no Redis can be had, ALLOW_NO_PROMTOOL=1 no promtool; without them that is a failure, since
// tests would be left out.
import './node-version.mjs';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand, Unavailable } from './process/lifetime.mjs';
import { prepareBuild, prepareDependencies } from './prepare.mjs';
import { findServices } from './services.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const say = (line) => console.log(line);
let counts = { passed: 0, failed: 0, skipped: 0 };

process.on('exit', (code) => {
  // A run that failed without a failed test (it could not begin, or had no tests) must not read like a success.
  if (code !== 0 && counts.failed === 0) counts.failed = 1;
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
  console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`);
});

await runCommand('npm test', async (lifetime) => {
  const context = { root, lifetime, say };
  await prepareDependencies(context);
  const isBuilt = process.env.NO_BUILD ? true : await tryBuild(context);
  const services = await findServices({ ...context, isThrowAway: true });
  say(`postgres: ${services.postgres}`);
  say(`redis: ${services.redis}`);
  if (!services.redisUrl && !process.env.ALLOW_NO_REDIS) {
    throw new Unavailable(
      'the tests need Redis. Install it (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis),' +
        ' or set REDIS_URL, or leave out what needs it by ALLOW_NO_REDIS=1.',
    );
  }
  const code = await runJest(lifetime, services);
  if (!isBuilt) counts.failed += 1;
  if (counts.passed + counts.failed === 0) say('no test ran');
  return code === 0 && counts.failed === 0 && counts.passed > 0 ? 0 : 1;
});

/** A program that does not compile fails the run, but the tests of the parts that do are worth running. */
async function tryBuild(context) {
  try {
    await prepareBuild(context);
    return true;
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    say(`${error.message}\nCounted as one failure; tests that start the built program will fail too.`);
    return false;
  }
}

async function runJest(lifetime, services) {
  const args = process.argv.slice(2);
  const summary = join(lifetime.temporaryFolder('order-reconciler-summary-'), 'counts.json');
  const jest = lifetime.start(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      ...args,
      // Last: an option that may be repeated takes the words behind it for more values of its own.
      '--reporters=default',
      '--reporters=<rootDir>/scripts/summary-reporter.mjs',
    ],
    {
      cwd: root,
      stdio: 'inherit',
      // Watching reads keys from the terminal, which only the terminal's own group may.
      detached: !args.some((arg) => arg.startsWith('--watch')),
      env: { ...process.env, ...environment(services), SUMMARY_FILE: summary },
    },
  );
  const { code } = await jest.exited;
  lifetime.signal.throwIfAborted();
  if (existsSync(summary)) counts = JSON.parse(readFileSync(summary, 'utf8'));
  return code;
}

/** What the tests are told: the running services, and the programs for tests that start servers of their own. */
function environment({ databaseUrl, redisUrl, postgresBin, redisServer, user }) {
  return {
    DATABASE_URL: databaseUrl,
    ...(redisUrl && { REDIS_URL: redisUrl }),
    ...(postgresBin && { POSTGRES_BIN: postgresBin }),
    ...(redisServer && { REDIS_SERVER: redisServer }),
    // Postgres refuses to run as root.
    ...(user && { POSTGRES_UID: String(user.uid), POSTGRES_GID: String(user.gid) }),
  };
}
