/** The architecture as rules; each says why. Run by `npm run check:dependencies` and in the test run. */
const only = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

export default {
  forbidden: [
    only('no-cycles', 'A cycle hides which part depends on which.', {}, { circular: true }),
    only(
      'core-is-pure',
      'src/operation decides; it must be testable without I/O, so it imports zod and node:crypto (hashing) only.',
      { path: '^src/operation' },
      { pathNot: ['^src/operation', 'node_modules/zod', '^(node:)?crypto$'] },
    ),
    only(
      'findings-are-pure',
      'src/findings compares two sides; what it needs of the world is handed in, and of the port it knows types only.',
      { path: '^src/findings' },
      { pathNot: ['^src/(findings|operation)', '^src/payment/port'] },
    ),
    only(
      'sql-in-store-only',
      'Conditional writes are readable in one place.',
      { path: '^src', pathNot: '^src/store' },
      { path: 'node_modules/(typeorm|pg)/' },
    ),
    only(
      'queue-library-in-queue-only',
      'The queue is a bell; nothing else may come to rely on it as a carrier.',
      { path: '^src', pathNot: '^src/queue' },
      { path: 'node_modules/(bullmq|ioredis)/' },
    ),
    only(
      'loop-knows-ports-only',
      'The loop is built with `new` in tests; frameworks and concrete adapters are handed in.',
      { path: '^src/(reconciler|orphans)' },
      {
        path: [
          'node_modules/@nestjs',
          '^src/(queue|api|console|sandbox)',
          '^src/payment/stripe',
          '^src/inventory/http',
        ],
      },
    ),
    only(
      'api-never-calls-the-world',
      'The API stores wishes; effects belong to the loop.',
      { path: '^src/(api|console)' },
      { path: '^src/(payment|inventory)/' },
    ),
    only(
      'stripe-in-its-adapter-only',
      'Everything provider-specific stands behind the payment port.',
      { path: '^src', pathNot: '^src/(payment/stripe|sandbox)' },
      { path: 'node_modules/stripe/' },
    ),
    only(
      'http-client-in-outgoing-only',
      'What a lost request may have done is decided in one place.',
      { path: '^src', pathNot: '^src/outgoing' },
      { path: 'node_modules/undici/' },
    ),
    only(
      'product-does-not-know-the-sandbox',
      'The sandbox is the outside world: no branch of the product may know of it.',
      { path: '^(src|migrations)', pathNot: '^src/sandbox' },
      { path: '^src/sandbox' },
    ),
    only(
      'sandbox-does-not-know-the-product',
      'A stand-in that shares code with the product would share its mistakes.',
      { path: '^src/sandbox' },
      { path: '^(src/(?!sandbox)|migrations)' },
    ),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
