// Redis from the distribution's packages, unpacked for this project alone.
import { debianProgram } from './debian-package.mjs';
import { inspectRedis } from './redis.mjs';

/** `{path, name, version, major}`; null when this is no Debian or Ubuntu, or the packages cannot be reached. */
export async function debianRedis({ folder, lifetime, say }) {
  const path = await debianProgram({
    name: 'redis-server',
    program: 'usr/bin/redis-server',
    folder,
    lifetime,
    announce: () =>
      say('Redis is not installed: unpacking the distribution’s package for this project (a few MB, once)'),
  });
  return path === null ? null : inspectRedis(path);
}
