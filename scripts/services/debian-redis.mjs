// Redis from the distribution's packages, unpacked for this project alone: nothing is installed into the system
// and nothing needs root.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { inspectRedis } from './redis.mjs';

/** `{path, name, version, major}`; null when this is no Debian or Ubuntu, or the packages cannot be reached. */
export async function debianRedis({ folder, lifetime, say }) {
  const unpacked = join(folder, 'redis-server');
  const program = join(unpacked, 'run');
  if (existsSync(program)) return inspectRedis(program);
  if (!['apt-get', 'dpkg'].every(isInPath)) return null;

  say('Redis is not installed: unpacking the distribution’s package for this project (a few MB, once)');
  const work = `${unpacked}.${process.pid}`;
  mkdirSync(work, { recursive: true });
  try {
    if (!(await download({ work, lifetime }))) return null;
    const files = join(work, 'files');
    for (const name of readdirSync(work).filter((each) => each.endsWith('.deb'))) {
      const { code, output } = await lifetime.run('dpkg', ['-x', name, files], { cwd: work });
      if (code !== 0) throw new Error(`dpkg -x ${name}: ${output.trim()}`);
    }
    writeRunner(files);
    renameSync(files, unpacked);
  } catch (error) {
    // Another start was quicker, with the same content.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return inspectRedis(program);
}

/** The package and what it needs that the system does not have, as `.deb` files in `work`. Whether that worked. */
async function download({ work, lifetime }) {
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
    const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
    const apt = (...args) =>
      lifetime.run('apt-get', [...options, ...args], { cwd: work, env: { ...process.env, LC_ALL: 'C' } });
    if (lists) {
      mkdirSync(join(lists, 'partial'), { recursive: true });
      await apt('update');
    }
    const plan = await apt('--simulate', '--no-install-recommends', 'install', 'redis-server');
    const packages = [...plan.output.matchAll(/^Inst (\S+)/gm)].map(([, name]) => name);
    if (packages.length > 0 && (await apt('download', ...packages)).code === 0) return true;
  }
  return false;
}

/** One path that runs the server with the libraries beside it, for us and for tests that start their own. */
function writeRunner(folder) {
  const libraries = readdirSync(join(folder, 'usr', 'lib')).map((name) => `$here/usr/lib/${name}`);
  const lines = [
    '#!/bin/sh',
    'here=$(dirname "$0")',
    `export LD_LIBRARY_PATH="${libraries.join(':')}"`,
    'exec "$here/usr/bin/redis-server" "$@"',
  ];
  writeFileSync(join(folder, 'run'), `${lines.join('\n')}\n`, { mode: 0o755 });
}

const isInPath = (name) =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => folder && existsSync(join(folder, name)));
