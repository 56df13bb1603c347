/** A handover as Markdown, from the same value; pure. */
import { formatMoney } from '../../operation/money.js';
import type { HandoverOut } from '../schemas/handover.js';

/** They turn the order of what follows around, so that another sum or name is read than was written. */
const DIRECTIONS = /[\u202a-\u202e\u2066-\u2069]/g;

/** Texts are shown as they are: none can become a heading, a link or a cell of their own. */
const plain = (text: string): string =>
  text
    .replace(DIRECTIONS, '')
    .replace(/[\\`*_[\]<>#|~]/g, '\\$&')
    .replace(/\s*[\r\n\t]+\s*/g, ' ');
/** To be copied as it is: the fence is longer than any within, and blanks keep the two apart. */
function code(text: string): string {
  const line = text.replace(/[\r\n]/g, ' ');
  const within = line.match(/`+/g) ?? [];
  if (within.length === 0) return `\`${line}\``;
  const fence = '`'.repeat(Math.max(...within.map(({ length }) => length)) + 1);
  return `${fence} ${line} ${fence}`;
}

const list = (items: readonly string[], none: string): string =>
  items.length === 0 ? none : items.map((item) => `- ${item}`).join('\n');

export function toMarkdown(handover: HandoverOut): string {
  const { intent, observed, failure, checkpoint, by_itself, triage } = handover;
  const money = (amount: number): string => formatMoney(amount, intent.amount.currency);
  const { payment, inventory } = observed;
  const sections: [title: string, text: string][] = [
    [
      'What is wanted',
      list(
        [
          `order ${code(intent.order_id)}: ${intent.desired}, ${money(intent.amount.value)}, capture ${intent.capture}`,
          `asked for by ${plain(intent.requested_by)} at ${intent.requested_at}`,
          ...intent.refunds.map(({ refund_id, amount }) => `refund ${code(refund_id)} of ${money(amount)}`),
          ...(intent.cancellation === null
            ? []
            : [
                `cancellation by ${plain(intent.cancellation.by)} at ${intent.cancellation.requested_at}` +
                  (intent.cancellation.reason === null ? '' : `: ${plain(intent.cancellation.reason)}`),
              ]),
          ...(intent.paused === null
            ? []
            : [
                `paused by ${plain(intent.paused.by)} at ${intent.paused.at}: ${plain(intent.paused.reason)}`,
              ]),
        ],
        '',
      ),
    ],
    [
      'What was observed',
      list(
        [
          `payment ${payment.reference === null ? 'none' : code(payment.reference)}: **${payment.state}**, captured ` +
            `${money(payment.captured)}, refunded ${money(payment.refunded)}, authorized ${money(payment.authorized)}` +
            `${payment.disputed ? ', disputed' : ''} (${payment.at ?? 'never read'})`,
          `stock: **${inventory.state}** (${inventory.at ?? 'never read'})`,
          `has the customer's money moved: **${observed.money_moved}**`,
          `last known effect: ${checkpoint === null ? 'none' : `${checkpoint.what} (${checkpoint.at})`}`,
        ],
        '',
      ),
    ],
    [
      'What is uncertain',
      list(
        handover.uncertain.map(
          ({ what, since, effect_key }) =>
            `${plain(what)}${since === null ? '' : ` Since ${since}.`}${effect_key === null ? '' : ` Key ${code(effect_key)}.`}`,
        ),
        'Nothing.',
      ),
    ],
    [
      'What failed',
      failure === null
        ? 'Nothing that still matters.'
        : list(
            [
              `${code(failure.step)}: ${failure.class}, ${code(failure.code)}: ${plain(failure.message)}`,
              `${failure.meaning} ${failure.by_itself} (${failure.see})`,
              ...(failure.request_id === null ? [] : [`request ${code(failure.request_id)}`]),
            ],
            '',
          ),
    ],
    [
      'What is safe next',
      [
        `By itself: ${by_itself.what}${by_itself.step === null ? '' : ` Next step: ${code(by_itself.step)}.`}` +
          ` Next look: ${by_itself.next_look_at ?? 'none'}.`,
        list(
          handover.safe_next.map(
            ({ act, how, available, why_not, moves_money }) =>
              `${available ? '' : '~~'}**${act}**${available ? '' : '~~'}: ${plain(how)}${moves_money ? ' Moves money.' : ''}` +
              (why_not === null ? '' : ` Not now: ${plain(why_not)}`),
          ),
          'Nothing has to be done.',
        ),
        ...(handover.commands.length === 0
          ? []
          : [
              list(
                handover.commands.map(
                  ({ name, available, why_not }) =>
                    `command ${code(name)}: ${available ? 'available' : `not now: ${plain(why_not ?? '')}`}`,
                ),
                '',
              ),
            ]),
        ...(handover.avoid.length === 0
          ? []
          : [
              list(
                handover.avoid.map((text) => `**${text}**`),
                '',
              ),
            ]),
      ].join('\n\n'),
    ],
    [
      'What was sent',
      list(
        handover.attempts.map(
          ({ step, ordinal, effect_key, started_at, outcome, code: why, request_id, resolution }) =>
            `${started_at} ${code(step)} #${ordinal}: ${outcome ?? 'no answer'}${why === null ? '' : ` (${code(why)})`}` +
            `${resolution === null ? '' : `, ${resolution}`}, key ${code(effect_key)}` +
            (request_id === null ? '' : `, request ${code(request_id)}`),
        ),
        'Nothing.',
      ),
    ],
    [
      'Who asked for what',
      list(
        handover.tried.map(({ at, by, what }) => `${at} ${plain(by)}: ${plain(what)}`),
        'Nobody.',
      ),
    ],
    [
      'Triage',
      list(
        [
          `looked after by ${triage.assignee === null ? 'nobody' : plain(triage.assignee)}`,
          ...(triage.snooze_until === null ? [] : [`snoozed until ${triage.snooze_until}`]),
          ...triage.notes.map(({ at, by, note }) => `${at} ${plain(by)}: ${plain(note)}`),
        ],
        '',
      ),
    ],
    ['See', list(handover.see.map(code), '')],
  ];
  const head = [
    `# Handover of ${code(handover.operation_id)}`,
    `**${handover.phase}**, ${handover.reason}${handover.needs_person ? ', needs a person' : ''}` +
      `${handover.since === null ? '' : ` since ${handover.since}`}: ${plain(handover.message)}`,
    `Account ${code(handover.account)}, version ${handover.resource_version}, as of ${handover.as_of}.`,
  ];
  return `${[...head, ...sections.map(([title, text]) => `## ${title}\n\n${text}`)].join('\n\n')}\n`;
}
