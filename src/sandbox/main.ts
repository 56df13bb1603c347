/** The sandbox as a process of its own: settings from the environment, one line about where it listens. */
import { startSandbox } from './server.js';

const DEFAULT_PORT = 12_111;

async function main(): Promise<void> {
  const { PORT, HOST, WEBHOOK_URL, WEBHOOK_SECRET } = process.env;
  const port = PORT === undefined || PORT === '' ? DEFAULT_PORT : Number(PORT);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error(`PORT is not a port: ${PORT}`);
  if (Boolean(WEBHOOK_URL) !== Boolean(WEBHOOK_SECRET)) {
    throw new Error('WEBHOOK_URL and WEBHOOK_SECRET belong together');
  }
  const sandbox = await startSandbox({
    port,
    host: HOST === '' ? undefined : HOST,
    webhooks: WEBHOOK_URL && WEBHOOK_SECRET ? [{ url: WEBHOOK_URL, secret: WEBHOOK_SECRET }] : [],
  });
  const { url } = sandbox;
  process.stdout.write(
    `sandbox: payments ${url} (Stripe-compatible), warehouse ${url}/warehouse, control ${url}/_sandbox\n`,
  );
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      void sandbox.stop().then(() => process.exit(0));
    });
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`sandbox: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
