/** What each rewriting of a row need not carry: see docs/decisions/0022. Processes of former versions are stopped before. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = `
ALTER TABLE order_operations ALTER COLUMN first_spec DROP NOT NULL;
COMMENT ON COLUMN order_operations.first_spec IS
  'The spec as first created, which repeated creates are compared with; null while it is the spec';
COMMENT ON COLUMN order_operations.facts IS
  'What was last seen; written by the holder of the lease only. Members that are as for most orders are left out';
COMMENT ON COLUMN order_operations.status IS
  'Derived from wish and facts by one pure function wherever either is written; usual members are left out';
`;

export class LeanRows1700000000022 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(UP);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations are forward only; restore a backup to go back.'));
  }
}
