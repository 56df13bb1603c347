import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

async function cruise(folder: string, ...paths: string[]): Promise<{ ok: boolean; output: string }> {
  const program = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  try {
    const args = [program, '--config', '.dependency-cruiser.mjs', ...paths];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder });
    return { ok: true, output: stdout };
  } catch (error) {
    return { ok: false, output: String((error as { stdout?: unknown }).stdout) };
  }
}

describe('the architecture', () => {
  test('every import goes in an allowed direction', async () => {
    expect(await cruise(ROOT, 'src', 'migrations')).toMatchObject({ ok: true });
  }, 120_000);

  test('the rules bite: a core that reaches out is found', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'order-reconciler-rules-'));
    try {
      await mkdir(join(folder, 'src/operation'), { recursive: true });
      await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
      for (const file of ['.dependency-cruiser.mjs', 'tsconfig.json', 'package.json']) {
        await copyFile(join(ROOT, file), join(folder, file));
      }
      await writeFile(join(folder, 'src/operation/reaches-out.ts'), "export { Redis } from 'ioredis';\n");
      const { ok, output } = await cruise(folder, 'src');
      expect(ok).toBe(false);
      expect(output).toContain('core-is-pure');
      expect(output).toContain('queue-library-in-queue-only');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }, 120_000);
});
