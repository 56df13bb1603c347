// Everything that a command starts, and the promise that nothing of it outlives the command.
import { spawn } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Thrown where the message says all that the reader needs. */
export class Unavailable extends Error {}

/** Thrown into whatever waits when the command is told to stop; never shown. */
export class Interrupted extends Error {}

/**
 * Runs `body(lifetime)`, which returns the exit code, and stops what it started: when it is done, when it
 * fails, and on Ctrl-C, SIGTERM or a closed terminal.
 */
export async function runCommand(name, body) {
  const lifetime = openLifetime();
  let code = 1;
  try {
    code = await body(lifetime);
  } catch (error) {
    if (!lifetime.signal.aborted) console.error(`${name}: ${explain(error)}`);
  }
  await lifetime.stop();
  process.exit(lifetime.exitCode ?? code);
}

function explain(error) {
  if (error.code === 'ENOSPC') return `no space is left on the disk (${error.message})`;
  return error instanceof Unavailable ? error.message : error.stack;
}

function openLifetime() {
  const stopping = new AbortController();
  const stoppers = new Set();
  const living = new Set();
  const guard = startGuard();
  let stopped;

  const lifetime = {
    /** Aborted as soon as stopping begins: give it to whatever waits. */
    signal: stopping.signal,
    exitCode: undefined,

    stop() {
      stopped ??= (async () => {
        stopping.abort(new Interrupted());
        // The last that was started goes first, so that users stop before what they use.
        for (const stopper of [...stoppers].reverse()) await stopper();
        guard.end();
      })();
      return stopped;
    },

    onStop(stopper) {
      stoppers.add(stopper);
    },

    /** A folder in `base` that is gone when the command is. */
    temporaryFolder(prefix, base = tmpdir()) {
      refuseWhenStopping();
      const folder = realpathSync(mkdtempSync(join(base, prefix)));
      guard.tell({ folder });
      stoppers.add(() => rmSync(folder, { recursive: true, force: true }));
      return folder;
    },

    /**
     * Starts a process that stays: `{child, exited: Promise<{code, signal, error}>, hasExited(), stop()}`. It leads
     * a process group of its own, so Ctrl-C in the terminal reaches only the command, which stops things in order.
     */
    start(command, args, { input, stopSignal = 'SIGTERM', graceMs = 10_000, ...options } = {}) {
      refuseWhenStopping();
      const child = spawn(command, args, { detached: true, stdio: 'ignore', ...options });
      let hasExited = false;
      const exited = new Promise((resolve) => {
        const end = (ending) => {
          hasExited = true;
          living.delete(child);
          stoppers.delete(stop);
          resolve(ending);
        };
        child.once('error', (error) => end({ code: 127, signal: null, error }));
        child.once('exit', (code, signal) => {
          // At once, while the number cannot belong to anybody else: what the process left behind in its group.
          sendSignal(-child.pid, 'SIGKILL');
          guard.tell({ remove: child.pid });
          end({ code, signal });
        });
      });
      async function stop() {
        if (hasExited) return;
        sendSignal(child.pid, stopSignal);
        const timer = setTimeout(() => sendSignal(-child.pid, 'SIGKILL'), graceMs);
        await exited;
        clearTimeout(timer);
      }
      if (child.pid) {
        living.add(child);
        guard.tell({ add: child.pid, stopSignal });
      }
      stoppers.add(stop);
      if (input !== undefined) child.stdin.on('error', () => {}).end(input);
      return { child, exited, hasExited: () => hasExited, stop };
    },

    /** Runs a process to its end: `{code, output}`, both output streams together. A failing code does not throw. */
    async run(command, args, options = {}) {
      const { child, exited } = lifetime.start(command, args, {
        ...options,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (text) => (output += text));
      }
      const closed = new Promise((resolve) => child.once('close', resolve));
      const { code, error } = await exited;
      if (!error) await closed;
      refuseWhenStopping();
      return { code: code ?? 1, output: error ? error.message : output };
    },
  };

  function refuseWhenStopping() {
    if (stopping.signal.aborted) throw stopping.signal.reason;
  }

  let firstAskedAt = Infinity;
  const stopBy = (name) => {
    // Asked again: whoever asks does not want to wait for a clean end. (One Ctrl-C may arrive twice, by way of npm.)
    if (Date.now() - firstAskedAt > 1000) for (const child of living) sendSignal(-child.pid, 'SIGKILL');
    firstAskedAt = Math.min(firstAskedAt, Date.now());
    lifetime.exitCode ??= 128 + constants.signals[name];
    void lifetime.stop().then(() => process.exit(lifetime.exitCode));
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => stopBy(name));
  if (process.env.npm_lifecycle_event) watchParent(() => stopBy('SIGTERM'));
  // The reader of our output is gone (`npm start | head`): nobody is left to run for.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', () => void lifetime.stop().then(() => process.exit(1)));
  }
  return lifetime;
}

/** npm runs us through a shell, which dies of a SIGTERM without passing it on: then nobody is left to stop us. */
function watchParent(onGone) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, 250);
  timer.unref();
}

/** See guard.mjs. Losing it (a full process table, say) costs only the safety net. */
function startGuard() {
  const guard = spawn(process.execPath, [fileURLToPath(new URL('./guard.mjs', import.meta.url))], {
    detached: true,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.on('error', () => {});
  guard.stdin.on('error', () => {});
  guard.unref();
  return {
    tell: (change) => guard.stdin.write(`${JSON.stringify(change)}\n`),
    end: () => guard.stdin.end(),
  };
}

function sendSignal(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
