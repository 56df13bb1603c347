// Where contestants run: the services, the stand-in for the outside world, and processes with their logs.
import { once } from 'node:events';
import { chmodSync, closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Unavailable } from '../scripts/process/lifetime.mjs';
import { serviceUser, temporaryPlace } from '../scripts/services/place.mjs';
import { waitUntil } from '../scripts/services/probe.mjs';
import { httpClient, sendJson } from './http-client.mjs';
import { startServices } from './services.mjs';

export async function openArena({ root, options, lifetime, say }) {
  const folder = lifetime.temporaryFolder('order-reconciler-bench-');
  const services = await startServices({ root, folder: servicesFolder(lifetime), lifetime, say });
  const arena = { root, options, lifetime, say, folder, services };
  return { ...arena, world: await startWorld(arena) };
}

/** The server's user must get through to its own part. */
function servicesFolder(lifetime) {
  const folder = lifetime.temporaryFolder('order-reconciler-bench-services-', temporaryPlace(serviceUser()));
  chmodSync(folder, 0o711);
  return folder;
}

async function startWorld(arena) {
  const program = startNode(arena, 'world', ['bench/world.mjs'], {}, { ipc: true });
  const [{ port }] = await Promise.race([
    once(program.child, 'message'),
    program.exited.then(() => {
      throw new Unavailable(`the stand-in did not start:\n${readFileSync(program.log, 'utf8').slice(-3000)}`);
    }),
  ]);
  const url = `http://127.0.0.1:${port}`;
  const client = httpClient(url, { connections: 2 });
  return {
    url,
    pid: program.child.pid,
    counts: () => sendJson(client, { path: '/control/counts' }),
    /** What each order came to, by its id. */
    ledger: () => sendJson(client, { path: '/control/ledger' }),
    /** Forgets all orders. */
    reset: (latency_ms) =>
      sendJson(client, { method: 'POST', path: '/control/reset', body: JSON.stringify({ latency_ms }) }),
  };
}

/** As in the image, for all contestants. */
const NODE_OPTIONS = '--max-semi-space-size=32';
const NODE_FLAGS = ['--no-parallel-scavenge'];

/** A Node process with a log of its own: `{child, pid, exited, hasExited(), stop(), log}`. */
export function startNode(arena, name, args, env, { cwd = arena.root, ipc = false } = {}) {
  const log = join(arena.folder, `${name}.log`);
  const output = openSync(log, 'a', 0o600);
  const program = arena.lifetime.start(process.execPath, [...NODE_FLAGS, ...args], {
    cwd,
    env: { PATH: process.env.PATH, NODE_ENV: 'production', NODE_OPTIONS, ...env },
    stdio: ['ignore', output, output, ...(ipc ? ['ipc'] : [])],
  });
  closeSync(output);
  return { ...program, pid: program.child.pid, name, log };
}

/** Waits until the process says by itself, or `ask` says, that it is ready. */
export async function untilReady(arena, program, ask) {
  const options = { signal: arena.lifetime.signal, isOver: program.hasExited, timeoutMs: 60_000 };
  if (await waitUntil(ask, options)) return;
  throw new Unavailable(
    `${program.name} did not become ready:\n${readFileSync(program.log, 'utf8').slice(-3000)}`,
  );
}

export async function answersOk(url, signal) {
  try {
    return (await fetch(url, { signal })).ok;
  } catch {
    return false;
  }
}
