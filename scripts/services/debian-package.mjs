// A program from the distribution's packages, unpacked for this project alone: nothing is installed into the system
// and nothing needs root.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Path of what runs `program` (inside the package, such as `usr/bin/redis-server`), kept in `folder`; null when this is no
 * Debian or Ubuntu, or the packages cannot be reached. `alone`: it needs none of the packages that it depends on.
 */
export async function debianProgram({ name, program, alone = false, folder, lifetime, announce }) {
  const unpacked = join(folder, name);
  const runner = join(unpacked, 'run');
  if (existsSync(runner)) return runner;
  if (!['apt-get', 'dpkg'].every(isInPath)) return null;

  announce();
  const work = `${unpacked}.${process.pid}`;
  mkdirSync(work, { recursive: true });
  try {
    if (!(await download({ name, alone, work, lifetime }))) return null;
    const files = join(work, 'files');
    for (const deb of readdirSync(work).filter((each) => each.endsWith('.deb'))) {
      const { code, output } = await lifetime.run('dpkg', ['-x', deb, files], { cwd: work });
      if (code !== 0) throw new Error(`dpkg -x ${deb}: ${output.trim()}`);
    }
    writeRunner(files, program);
    renameSync(files, unpacked);
  } catch (error) {
    // Another start was quicker, with the same content.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return runner;
}

/** The package and what it needs that the system does not have, as `.deb` files in `work`. Whether that worked. */
async function download({ name, alone, work, lifetime }) {
  // The lists that the system has may be missing or name files that are long replaced: then fresh lists of our own.
  for (const lists of [undefined, join(work, 'lists')]) {
    const settings = {
      'Dir::Cache': join(work, 'cache'),
      ...(lists && { 'Dir::State::lists': lists }),
      // As root apt would download as a user who cannot enter our folders.
      'APT::Sandbox::User': 'root',
      // Without a network there is another way, so do not insist.
      'Acquire::http::Timeout': 15,
      'Acquire::Retries': 1,
    };
    const options = Object.entries(settings).flatMap(([option, value]) => ['-o', `${option}=${value}`]);
    const apt = (...args) =>
      lifetime.run('apt-get', [...options, ...args], { cwd: work, env: { ...process.env, LC_ALL: 'C' } });
    if (lists) {
      mkdirSync(join(lists, 'partial'), { recursive: true });
      await apt('update');
    }
    const packages = alone ? [name] : await missingPackages(apt, name);
    if (packages.length > 0 && (await apt('download', ...packages)).code === 0) return true;
  }
  return false;
}

async function missingPackages(apt, name) {
  const plan = await apt('--simulate', '--no-install-recommends', 'install', name);
  return [...plan.output.matchAll(/^Inst (\S+)/gm)].map(([, each]) => each);
}

/** One path that runs the program with the libraries beside it, for us and for tests that start their own. */
function writeRunner(folder, program) {
  const place = join(folder, 'usr', 'lib');
  const libraries = existsSync(place) ? readdirSync(place).map((name) => `$here/usr/lib/${name}`) : [];
  const lines = [
    '#!/bin/sh',
    'here=$(dirname "$0")',
    `export LD_LIBRARY_PATH="${libraries.join(':')}"`,
    `exec "$here/${program}" "$@"`,
  ];
  writeFileSync(join(folder, 'run'), `${lines.join('\n')}\n`, { mode: 0o755 });
}

export const isInPath = (name) =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => folder && existsSync(join(folder, name)));
