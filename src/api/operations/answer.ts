/** How an operation is sent: its representation, its ETag, the status of the route. */
import type { FastifyReply } from 'fastify';
import type { Policy } from '../../operation/operation.js';
import type { OperationRecord } from '../../store/record.js';
import { etagOf } from '../http/if-match.js';
import type { OperationOut } from '../schemas/operation.js';
import { toOperationOut } from './representation.js';

export function answerWith(
  reply: FastifyReply,
  status: number,
  record: OperationRecord,
  policy: Policy,
): OperationOut {
  void reply.status(status).header('etag', etagOf(record.resource_version));
  return toOperationOut(record, policy);
}

export const locationOf = (operationId: string): string =>
  `/v1/operations/${encodeURIComponent(operationId)}`;
