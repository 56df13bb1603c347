import tseslint from 'typescript-eslint';

// One home for each source of non-determinism, so that everything else can be tested without it.
const homes = {
  clock: {
    selector:
      "NewExpression[callee.name='Date'][arguments.length=0], MemberExpression[object.name='Date'][property.name='now']",
    message: 'The clock is read in src/clock.ts only; take the time as an argument.',
  },
  randomness: {
    selector: "MemberExpression[object.name='Math'][property.name='random']",
    message: 'Randomness is an argument (see src/clock.ts for its one source).',
  },
  environment: {
    selector: "MemberExpression[object.name='process'][property.name='env']",
    message: 'The environment is read in src/config.ts only.',
  },
  save: {
    selector: "CallExpression[callee.property.name='save']",
    message: 'Writes are conditional updates: a version column is not checked by repository.save().',
  },
};

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', '.data/**', 'coverage/**'] },
  {
    files: ['src/**/*.ts', 'migrations/**/*.ts', 'test/**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // `== null` asks for both kinds of nothing at once.
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': 'error',
      'no-duplicate-imports': 'error',
    },
  },
  {
    // Nest reads constructor parameter types at run time, so a type-only import would break injection.
    files: ['src/api/**/*.ts'],
    rules: { '@typescript-eslint/consistent-type-imports': 'off' },
  },
  {
    files: ['src/**/*.ts', 'migrations/**/*.ts'],
    rules: { 'no-restricted-syntax': ['error', ...Object.values(homes)] },
  },
  {
    files: ['src/clock.ts'],
    rules: { 'no-restricted-syntax': ['error', homes.environment, homes.save] },
  },
  {
    files: ['src/config.ts', 'src/sandbox/main.ts'],
    rules: { 'no-restricted-syntax': ['error', homes.clock, homes.randomness, homes.save] },
  },
  {
    // The sandbox stands for the outside world, which has a clock of its own (that tests can move).
    files: ['src/sandbox/world.ts'],
    rules: { 'no-restricted-syntax': ['error', homes.environment, homes.save] },
  },
);
