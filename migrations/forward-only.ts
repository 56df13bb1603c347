/** A migration is one text of SQL; the way back is a backup. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export abstract class ForwardOnly implements MigrationInterface {
  protected abstract readonly sql: string;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(this.sql);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('Migrations are forward only; restore a backup to go back.'));
  }
}
