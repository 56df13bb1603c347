/** Rows as TypeORM reads them; member names are the column names, so raw rows have the same shape. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Failure } from '../operation/failure.js';
import type { OutcomeKind, Parameters, Resolution, Shown, StepName } from '../operation/attempt.js';
import type { Decisions } from '../operation/decisions.js';
import type { CancellationRequest, Facts, Status, Wish } from '../operation/operation.js';
import type { Spec } from '../operation/spec.js';
import type { Actor } from './record.js';
import type { Stored } from './stored.js';

@Entity('order_operations')
export class OrderOperationRow {
  @PrimaryColumn('bigint') id!: string;
  @Column('text') operation_id!: string;
  @Column('text') account!: string;
  @Column('jsonb') labels!: Record<string, string>;
  @Column('text') requested_by!: string;
  @Column('timestamptz') created_at!: Date;
  @Column('timestamptz') updated_at!: Date;
  @Column('int') generation!: number;
  @Column('bigint') resource_version!: string;
  @Column('jsonb') spec!: Spec;
  /** Null while it is the spec. */
  @Column('jsonb', { select: false, nullable: true }) first_spec!: Spec | null;
  @Column('jsonb', { nullable: true }) cancellation!: CancellationRequest | null;
  @Column('jsonb', { nullable: true }) paused!: Wish['paused'];
  @Column('int') confirmation!: number;
  @Column('int') payment_number!: number;
  @Column('jsonb', { nullable: true }) decisions!: Decisions | null;
  @Column('text', { nullable: true }) provider_reference!: string | null;
  @Column('jsonb') facts!: Stored<Facts>;
  @Column('jsonb') status!: Stored<Status>;
  @Column('text', { nullable: true }) task!: StepName | null;
  @Column('timestamptz', { nullable: true }) settled_at!: Date | null;
  @Column('timestamptz', { nullable: true }) next_attempt_at!: Date | null;
  @Column('timestamptz', { nullable: true }) erased_at!: Date | null;
  @Column('text') order_id!: string;
  @Column('text') phase!: string;
  @Column('text') condition!: string;
  @Column('text', { nullable: true }) attention_reason!: string | null;
}

@Entity('operation_attempts')
export class OperationAttemptRow {
  @PrimaryColumn('bigint') attempt_id!: string;
  @Column('bigint') operation!: string;
  @Column('text') step!: StepName;
  @Column('text') target!: string;
  @Column('int') ordinal!: number;
  @Column('text') effect_key!: string;
  @Column('json') parameters!: Parameters;
  @Column('int') generation!: number;
  @Column('bigint') fencing_token!: string;
  @Column('text') worker!: string;
  @Column('timestamptz') started_at!: Date;
  @Column('timestamptz', { nullable: true }) completed_at!: Date | null;
  @Column('text', { nullable: true }) outcome!: OutcomeKind | null;
  @Column('boolean') key_spent!: boolean;
  @Column('jsonb', { nullable: true }) failure!: Failure | null;
  @Column('jsonb', { nullable: true }) shown!: Stored<Shown> | null;
  @Column('text', { nullable: true }) request_id!: string | null;
  @Column('text', { nullable: true }) resolution!: Resolution | null;
}

@Entity('operation_events')
export class OperationEventRow {
  @PrimaryColumn('bigint') sequence!: string;
  @Column('bigint') operation!: string;
  @Column('timestamptz') at!: Date;
  @Column('text') type!: string;
  @Column('text') actor_kind!: Actor['kind'];
  @Column('text') actor_name!: string;
  @Column('text') message!: string;
  @Column('jsonb', { nullable: true }) data!: Record<string, unknown> | null;
}
