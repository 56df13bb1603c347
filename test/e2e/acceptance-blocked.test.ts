/** The provider is away in six ways at once, each for an account of its own; a sound account works on beside them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { BLOCKED_RUNS, type Block, type BlockedRun } from '../support/acceptance/blocked.js';
import {
  accountOf,
  budgetUsed,
  failingWith,
  finalOf,
  leftBy,
  recoveryOf,
  sceneOf,
  shownOf,
  unfinished,
  type AcceptanceRecord,
  type Scene,
} from '../support/acceptance/record.js';
import { aProduct, Client, until, type Process, type Product } from '../support/product.js';
import { startProxy, type Proxy } from '../support/proxy.js';
import { startTestSandbox, type TestSandbox } from '../support/sandbox-control.js';

const RETRY_LIMIT = 8;

interface Peer {
  readonly sandbox: TestSandbox;
  readonly proxy: Proxy;
}

describe('the provider is blocked', () => {
  const peers = new Map<string, Peer>();
  const folder = mkdtempSync(join(tmpdir(), 'order-reconciler-accounts-'));
  const stories = new Map<string, Promise<AcceptanceRecord>>();
  let product: Product;
  let processes: Process[];
  let client: Client;

  beforeAll(async () => {
    for (const { account } of BLOCKED_RUNS) {
      const sandbox = await startTestSandbox();
      const proxy = await startProxy({ host: '127.0.0.1', port: sandbox.port });
      peers.set(account, { sandbox, proxy });
    }
    const accounts = [...peers].map(([account, { proxy }]) => [
      account,
      { provider: 'stripe', secret: `sk_test_${account}`, base: `http://127.0.0.1:${proxy.port}` },
    ]);
    const file = join(folder, 'accounts.json');
    writeFileSync(file, JSON.stringify(Object.fromEntries(accounts)));
    product = await aProduct({
      ACCOUNTS_FILE: file,
      RETRY_LIMIT: String(RETRY_LIMIT),
      // Patience enough with a busy machine, so that nothing but the fault is met.
      PROVIDER_TIMEOUT_MS: '2000',
      LEASE_MS: '6000',
    });
    // One works, and knows each account from its authorizations; the other takes the calls.
    processes = [await product.start('all'), await product.start('api')];
    client = new Client(processes[1] as Process);
    for (const run of BLOCKED_RUNS) {
      const story = tell(run);
      story.catch(() => undefined); // Its own test reports it.
      stories.set(run.account, story);
    }
  }, 60_000);
  afterAll(async () => {
    await product.stop();
    for (const { sandbox, proxy } of peers.values()) {
      await proxy.stop();
      await sandbox.stop();
    }
    rmSync(folder, { recursive: true });
  });

  async function create(id: string, account: string, spec: Record<string, unknown> = {}): Promise<void> {
    const { payment, ...rest } = spec;
    const body = {
      operation_id: id,
      account,
      spec: {
        order_id: id,
        amount: { value: 12_900, currency: 'EUR' },
        lines: [{ sku: 'tea-500', quantity: 1 }],
        ...rest,
        payment: { provider: 'stripe', payment_method: 'pm_card_visa', ...(payment as object | undefined) },
      },
    };
    await until(
      async () => (await client.call('POST', '/v1/operations', body)).status < 300,
      `${id} to be stored`,
    );
  }

  async function tell({ account, block }: BlockedRun): Promise<AcceptanceRecord> {
    const { sandbox, proxy } = peers.get(account) as Peer;
    const names = (word: string): string[] => [1, 2].map((number) => `${account}-${word}-${number}`);
    const of = (ids: string[]): Scene => ({ ...sceneOf(product, ids), account, provider: sandbox.control });
    const [held, fresh] = [names('held'), names('new')];
    const [before, scene] = [of(held), of([...held, ...fresh])];

    for (const id of held) await create(id, account, { payment: { capture: 'manual' } });
    await until(async () => (await unfinished(before, 'authorized')) === 0, `${account}: authorizations`);
    const checkpoint = await finalOf(before);

    const sequence = await sandbox.control.journalSequence();
    await setBlock(block, true, sandbox, proxy);
    for (const id of held) await client.call('POST', `/v1/operations/${id}/capture`, {});
    for (const id of fresh) await create(id, account);
    await until(
      async () => (await failingWith(scene, 'outage')) === scene.ids.length,
      `${account}: the outage to be seen`,
      45_000,
    );
    const budgetsUsedUp = (await budgetUsed(scene)) >= RETRY_LIMIT;
    const shown = { ...(await shownOf(scene)), 'budgets used up': budgetsUsedUp };
    const met = (await sandbox.control.journal({ after: sequence })).map(({ fault }) => fault ?? 'none');

    await setBlock(block, false, sandbox, proxy);
    const ended = async (): Promise<boolean> =>
      (await unfinished(scene, 'fulfilled')) === 0 && (await accountOf(scene)) === 'closed';
    await until(ended, `${account}: the end`, 45_000);
    return {
      injected: { by: block.by === 'proxy' ? [`proxy: ${block.mode}`] : [...new Set(met)] },
      shown,
      checkpoint: { orders: checkpoint['orders'] ?? {}, effects: checkpoint['effects'] ?? {} },
      recovery: await recoveryOf(
        scene,
        processes,
        [`"account":"${account}"`, 'the account is out'],
        [`"account":"${account}"`, 'the account answers again'],
      ),
      final: await finalOf(scene),
      left: await leftBy(scene),
    };
  }

  test('an account that is sound works on meanwhile', async () => {
    await create('sound', 'default');
    await client.reaches('sound', 'fulfilled', 10_000);
  }, 30_000);

  test.each(BLOCKED_RUNS.map((run) => [run.title, run] as const))(
    '%s',
    async (_title, { account, expected }) => {
      expect(await stories.get(account)).toEqual(expected);
    },
    120_000,
  );
});

async function setBlock(block: Block, on: boolean, { control }: TestSandbox, proxy: Proxy): Promise<void> {
  switch (block.by) {
    case 'proxy':
      return proxy.set(on ? block.mode : 'pass');
    case 'outage':
      await control.outage({ mode: on ? block.mode : 'none', surface: 'payments' });
      return;
    case 'fault':
      if (on) await control.inject({ route: '*', kind: block.kind, times: null });
      else await control.clearFaults();
  }
}
