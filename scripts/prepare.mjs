// Brings the folder to where the product can run: dependencies as locked, and a build of the present sources.
// Does nothing when both are so already. Also a command of its own: node scripts/prepare.mjs
import './node-version.mjs';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand, Unavailable } from './process/lifetime.mjs';
import { waitForLock } from './process/lock.mjs';

/** Installs what is missing. Throws, with npm's own words, when that fails. */
export async function prepareDependencies({ root, lifetime, say }) {
  if (areDependenciesAsLocked(root)) return;
  await alone({ root, lifetime, say }, async () => {
    if (areDependenciesAsLocked(root)) return;
    say('installing the dependencies (npm ci)');
    // Whatever the caller's npm is told to leave out: the compiler is a development dependency.
    const { code, output } = await npm(lifetime, root, [
      'ci',
      '--include=dev',
      '--include=optional',
      '--loglevel=error',
    ]);
    if (code !== 0) throw new Unavailable(`npm ci failed:\n${output.trim()}`);
  });
}

/** Builds when the sources are not those of the last build. Throws, with the compiler's own words, when that fails. */
export async function prepareBuild({ root, lifetime, say }) {
  if (isBuilt(root)) return;
  await alone({ root, lifetime, say }, async () => {
    if (isBuilt(root)) return;
    say('building (npm run build)');
    const sources = hashSources(root);
    // The compiler takes its notes of the last build for the build itself, even when that was deleted.
    if (!existsSync(mainFile(root))) rmSync(join(root, 'dist'), { recursive: true, force: true });
    const { code, output } = await npm(lifetime, root, ['run', '--silent', 'build']);
    if (code !== 0) throw new Unavailable(`npm run build failed:\n${output.trim()}`);
    writeFileSync(stampFile(root), sources);
  });
}

/** npm keeps a record of what it has installed in node_modules, written last, so a cut-off install has none. */
function areDependenciesAsLocked(root) {
  const wanted = readPackages(join(root, 'package-lock.json'));
  const present = readPackages(join(root, 'node_modules', '.package-lock.json'));
  if (!present) return false;
  return Object.entries(wanted).every(([path, { version, integrity, optional }]) => {
    if (path === '') return true; // the project itself
    const found = present[path];
    // An optional package may be for another platform.
    return found ? found.version === version && found.integrity === integrity : optional === true;
  });
}

function readPackages(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : null;
}

function isBuilt(root) {
  const stamp = stampFile(root);
  return existsSync(stamp) && existsSync(mainFile(root)) && readFileSync(stamp, 'utf8') === hashSources(root);
}

const stampFile = (root) => join(root, 'dist', '.sources');
const mainFile = (root) => join(root, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).main);

/** Over the content: times say nothing after a checkout or a copy. */
function hashSources(root) {
  const hash = createHash('sha256');
  const add = (name) => {
    const path = join(root, name);
    if (statSync(path).isDirectory()) for (const child of readdirSync(path).sort()) add(join(name, child));
    else hash.update(`${name}\0`).update(readFileSync(path)).update('\0');
  };
  ['tsconfig.json', 'tsconfig.build.json', 'package-lock.json', 'migrations', 'src'].forEach(add);
  return hash.digest('hex');
}

async function alone({ root, lifetime, say }, work) {
  mkdirSync(join(root, '.data'), { recursive: true });
  const lock = await waitForLock(join(root, '.data', 'prepare.lock'), {
    signal: lifetime.signal,
    onWait: (pid) => say(`process ${pid} is preparing this folder: waiting for it`),
  });
  lifetime.onStop(lock.release);
  try {
    await work();
  } finally {
    lock.release();
  }
}

/** The npm that runs us, when one does: there may be no other in PATH. */
function npm(lifetime, root, args) {
  const running = process.env.npm_execpath;
  const [command, ...first] = running?.endsWith('npm-cli.js') ? [process.execPath, running] : ['npm'];
  return lifetime.run(command, [...first, ...args], { cwd: root, graceMs: 3000 });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await runCommand('prepare', async (lifetime) => {
    const context = { root: fileURLToPath(new URL('..', import.meta.url)), lifetime, say: console.log };
    await prepareDependencies(context);
    await prepareBuild(context);
    return 0;
  });
}
