/** Neither the zone of a process nor that of the database reaches a time or a sum that a caller sees. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '../../src/clock.js';
import { finalOf, leftBy, sceneOf } from '../support/acceptance/record.js';
import { DEADLINE, LARGE, ZONES_RUN } from '../support/acceptance/zones.js';
import { aProduct, Client, SUPPORT_KEY, until, type Product } from '../support/product.js';

const PROCESS_ZONE = 'Asia/Tokyo';
const DEADLINE_MS = 3_000;
const TOKYO_OFFSET_MS = 9 * 3_600_000;
/** A member that is a time, as it stands in the text of an answer. */
const TIMES = /"(?:\w+_at|since|as_of|payment_deadline)":"([^"]+)"/g;

let product: Product;
beforeAll(async () => {
  product = await aProduct({ TZ: PROCESS_ZONE });
  const name = new URL(product.db.url).pathname.slice(1);
  // Sessions that begin from now on: those of the processes, not the one of the test.
  await product.db.database.query(`ALTER DATABASE ${name} SET timezone TO 'America/New_York'`);
}, 60_000);
afterAll(() => product.stop());

const now = (): number => systemClock.now().getTime();
const inTokyo = (time: number): string =>
  new Date(time + TOKYO_OFFSET_MS).toISOString().replace('Z', '+09:00');

interface Shown {
  readonly metadata: { readonly created_at: string };
  readonly spec: { readonly payment_deadline: string };
  readonly status: { readonly payment: { captured: number; refunded: number; refundable: number } };
}
const seen = async (client: Client, id: string): Promise<Shown> =>
  (await client.get(id)).body as unknown as Shown;

test(
  ZONES_RUN.title,
  async () => {
    const { query } = sceneOf(product, []);
    const api = await product.start('api');
    await product.start('worker');
    const client = new Client(api);
    const ids = ['zoned', 'large', 'missed'];
    const scene = sceneOf(product, ids);

    const asked = now();
    const spec = { amount: { value: 1_000, currency: 'EUR' }, payment_deadline: DEADLINE.given };
    const created = await client.create('zoned', spec);
    await client.create('large', { amount: { value: LARGE, currency: 'EUR' } });
    const deadline = now() + DEADLINE_MS;
    await client.create('missed', {
      payment_deadline: inTokyo(deadline),
      payment: {
        payment_method: 'pm_card_authenticationRequired',
        return_url: 'https://shop.example/return',
      },
    });
    const zoned = created.body as unknown as Shown;
    const createdAt = Date.parse(zoned.metadata.created_at);
    await client.reaches('zoned', 'fulfilled');
    await client.reaches('large', 'fulfilled');
    const { captured, refunded } = await product.control.ledger('zoned');
    for (const [refund_id, amount] of [['first', 900] as const, ['second', 100] as const])
      await client.call('POST', '/v1/operations/zoned/refunds', { refund_id, amount });
    await until(async () => (await seen(client, 'zoned')).status.payment.refunded === 1_000, 'the refunds');
    await client.reaches('missed', 'rejected');

    const [row] = await query<{ created: number; zone: string }>(
      `SELECT (extract(epoch FROM created_at) * 1000)::float8 AS created, (
       SELECT split_part(setting, '=', 2) FROM pg_db_role_setting, unnest(setconfig) AS setting
       WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())) AS zone
     FROM order_operations WHERE operation_id = 'zoned'`,
    );
    const [gone] = await query<{ at: number }>(
      `SELECT (extract(epoch FROM min(e.at)) * 1000)::float8 AS at
     FROM operation_events e JOIN order_operations o ON o.id = e.operation
     WHERE o.operation_id = 'missed' AND e.data::text LIKE '%PaymentDeadlinePassed%'`,
    );
    const late = (gone?.at ?? 0) - deadline;
    const texts = await Promise.all(
      ids.flatMap((id) => ['', '/events', '/attempts'].map((path) => textOf(api.url, `${id}${path}`))),
    );
    const times = texts.flatMap((text) => [...text.matchAll(TIMES)].map(([, time = '']) => time));
    expect(times.length).toBeGreaterThan(30);
    const { payment } = (await seen(client, 'zoned')).status;
    const { payment: large } = (await seen(client, 'large')).status;
    expect({
      injected: { 'zone of the database': row?.zone, 'zone of the processes': product.environment['TZ'] },
      shown: {
        payment_deadline: zoned.spec.payment_deadline,
        'created_at, off by more than a second': Math.abs(createdAt - asked) > 1_000,
        'created_at as the database has it': row?.created === createdAt,
        'times that are not UTC': times.filter((time) => new Date(time).toISOString() !== time).length,
      },
      checkpoint: { refunded, captured },
      recovery: {
        'seconds that the missed deadline was early': Math.ceil(Math.max(0, -late) / 1_000),
        'seconds that it was late, beyond 5': Math.floor(Math.max(0, late - 5_000) / 1_000),
      },
      final: {
        ...(await finalOf(scene)),
        'refunded and refundable in JSON': JSON.stringify({
          refunded: payment.refunded,
          refundable: payment.refundable,
        }),
        'captured in JSON': JSON.stringify({ captured: large.captured }),
      },
      left: await leftBy(scene),
    }).toEqual(ZONES_RUN.expected);
  },
  60_000,
);

async function textOf(url: string, path: string): Promise<string> {
  const authorization = `Bearer ${SUPPORT_KEY}`;
  return (await fetch(`${url}/v1/operations/${path}`, { headers: { authorization } })).text();
}
