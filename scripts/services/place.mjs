// Where data can lie so that the user who runs Postgres can use it, and who that user is.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Unavailable } from '../process/lifetime.mjs';

/** Postgres refuses to run as root: root gets another user `{uid, gid}`, everybody else null (stay who you are). */
export function serviceUser() {
  if (process.getuid() !== 0) return null;
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((which) => spawnSync('id', [which, name], { encoding: 'utf8' }));
    if (uid.status === 0 && gid.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new Unavailable(
    'Postgres does not run as root and there is no user "postgres" or "nobody": run as another user.',
  );
}

/** Whether `user` can pass through every folder above `path` and read it. */
export function isReachable(path, user) {
  if (user === null) return true;
  for (let at = path, needed = 0o5; ; at = dirname(at), needed = 0o1) {
    const { uid, gid, mode } = statSync(at);
    const granted = uid === user.uid ? mode >> 6 : gid === user.gid ? mode >> 3 : mode;
    if ((granted & needed) !== needed) return false;
    if (at === dirname(at)) return true;
  }
}

/**
 * The folder for what is kept between runs: `.data` in the project, or, when that cannot be used by those who need
 * it, one of our own in the system's temporary place.
 */
export function keptFolder(root, user) {
  const inProject = join(root, '.data');
  if (isUsable(inProject, user)) return inProject;
  const project = createHash('sha256').update(root).digest('hex').slice(0, 8);
  const folder = join(temporaryPlace(user), `order-reconciler-${process.getuid()}-${project}`);
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const found = lstatSync(folder);
  // Everybody can write to the temporary place; a folder that somebody else put there is not to be trusted.
  if (!found.isDirectory() || found.uid !== process.getuid()) {
    throw new Unavailable(`${folder} exists and is not ours: remove it.`);
  }
  return folder;
}

/** The system's temporary place; under some set-ups root's own one is private. */
export function temporaryPlace(user) {
  return [tmpdir(), '/tmp', '/var/tmp'].find((folder) => isReachable(folder, user)) ?? tmpdir();
}

function isUsable(folder, user) {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    if (error.code === 'EACCES' || error.code === 'EROFS' || error.code === 'EPERM') return false;
    throw error;
  }
  if (user) return isReachable(folder, user);
  // Left behind by a run as root: readable perhaps, but neither to be started nor to be removed by us.
  return readdirSync(folder).every((name) => lstatSync(join(folder, name)).uid === process.getuid());
}
