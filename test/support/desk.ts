/** Support staff at work: previews and confirmations over HTTP, as a console would send them. */
import { CommandOut, PreviewOut } from '../../src/api/schemas/commands.js';
import { FindingCommandOut, FindingPreviewOut } from '../../src/api/schemas/finding-commands.js';
import { AttentionOut } from '../../src/api/schemas/triage.js';
import { pathOf, problem } from './api.js';
import type { Answer } from './http.js';
import type { Shop } from './shop.js';

type Name = Parameters<Shop['as']>[0];

export interface Desk {
  preview(id: string, command: string, parameters?: object, by?: Name): Promise<Answer>;
  confirm(id: string, previewId: string, by?: Name, reason?: string): Promise<Answer>;
  approve(id: string, previewId: string, by?: Name): Promise<Answer>;
  /** Both, one after the other; fails unless the command is accepted. */
  command(id: string, command: string, parameters?: object, by?: Name): Promise<CommandOut>;
  /** Why a command is not available; fails when it is. */
  whyNot(id: string, command: string, parameters?: object, by?: Name): Promise<string>;
}

export function aDesk(shop: Shop): Desk {
  const desk: Desk = {
    preview: (id, command, parameters, by = 'desk') =>
      shop.as(by)('POST', pathOf(id, '/commands/preview'), {
        body: { command, ...(parameters === undefined ? {} : { parameters }) },
      }),
    confirm: (id, preview_id, by = 'desk', reason = 'seen in the dashboard') =>
      shop.as(by)('POST', pathOf(id, '/commands'), { body: { preview_id, reason } }),
    approve: (id, previewId, by = 'boss') =>
      shop.as(by)('POST', pathOf(id, `/commands/${previewId}/approval`)),
    async command(id, command, parameters, by = 'desk') {
      const preview = previewed(await desk.preview(id, command, parameters, by));
      return commanded(await desk.confirm(id, preview.preview_id, by));
    },
    async whyNot(id, command, parameters, by = 'desk') {
      const answer = await desk.preview(id, command, parameters, by);
      const { code, detail } = problem(answer);
      if (code !== 'command_not_available') throw new Error(`expected a refusal, got ${answer.text}`);
      return detail;
    },
  };
  return desk;
}

/** The answer as a preview; fails unless it is one. */
export function previewed(answer: Answer): PreviewOut {
  if (answer.status !== 201) throw new Error(`expected 201, got ${answer.status}: ${answer.text}`);
  return PreviewOut.parse(answer.json());
}

/** The answer as a command; fails unless it is one. */
export function commanded(answer: Answer): CommandOut {
  if (answer.status !== 202) throw new Error(`expected 202, got ${answer.status}: ${answer.text}`);
  return CommandOut.parse(answer.json());
}

/** What waits for a second person, as a lead is shown it. */
export const approvalsOf = async (shop: Shop): Promise<AttentionOut['approvals']> =>
  AttentionOut.parse((await shop.as('boss')('GET', '/v1/attention')).json()).approvals;

/** The same for findings; `id` is the finding's. */
export interface FindingsDesk {
  preview(id: string, command: string, by?: Name): Promise<Answer>;
  confirm(id: string, previewId: string, by?: Name, reason?: string): Promise<Answer>;
  approve(id: string, previewId: string, by?: Name): Promise<Answer>;
  /** Both, one after the other; fails unless the command is accepted. */
  command(id: string, command: string, by?: Name): Promise<FindingCommandOut>;
  /** Why a command is not available; fails when it is. */
  whyNot(id: string, command: string, by?: Name): Promise<string>;
}

export function aFindingsDesk(shop: Shop): FindingsDesk {
  const path = (id: string, rest = ''): string => `/v1/findings/${id}/commands${rest}`;
  const desk: FindingsDesk = {
    preview: (id, command, by = 'desk') => shop.as(by)('POST', path(id, '/preview'), { body: { command } }),
    confirm: (id, preview_id, by = 'desk', reason = 'the customer paid twice') =>
      shop.as(by)('POST', path(id), { body: { preview_id, reason } }),
    approve: (id, previewId, by = 'boss') => shop.as(by)('POST', path(id, `/${previewId}/approval`)),
    async command(id, command, by = 'desk') {
      const { preview_id } = findingPreviewed(await desk.preview(id, command, by));
      return findingCommanded(await desk.confirm(id, preview_id, by));
    },
    async whyNot(id, command, by = 'desk') {
      const answer = await desk.preview(id, command, by);
      const { code, detail } = problem(answer);
      if (code !== 'command_not_available') throw new Error(`expected a refusal, got ${answer.text}`);
      return detail;
    },
  };
  return desk;
}

export function findingPreviewed(answer: Answer): FindingPreviewOut {
  if (answer.status !== 201) throw new Error(`expected 201, got ${answer.status}: ${answer.text}`);
  return FindingPreviewOut.parse(answer.json());
}

export function findingCommanded(answer: Answer): FindingCommandOut {
  if (answer.status !== 202) throw new Error(`expected 202, got ${answer.status}: ${answer.text}`);
  return FindingCommandOut.parse(answer.json());
}
