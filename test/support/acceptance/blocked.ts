/** Runs in which the payment provider cannot be used, each in a way of its own. */
import type { Fault } from '../sandbox-control.js';
import { NOTHING_LEFT, type Run } from './record.js';

/** proxy: in front of the provider · outage, fault: what the provider itself answers to everything. */
export type Block =
  | { readonly by: 'proxy'; readonly mode: 'refuse' | 'hang' }
  | { readonly by: 'outage'; readonly mode: 'unavailable' | 'drop' }
  | { readonly by: 'fault'; readonly kind: Fault['kind'] };

export interface BlockedRun extends Run {
  /** A provider account of its own, so that all runs share one product and show that they do not touch each other. */
  readonly account: string;
  readonly block: Block;
}

const STORY =
  'Two orders are authorized. The provider is blocked; the two are to be captured and two more come in. It is unblocked.';

function run(
  account: string,
  title: string,
  block: Block,
  [injected, failure]: readonly [string, string],
  meanwhile: Readonly<Record<string, number>>,
): BlockedRun {
  return {
    account,
    title,
    block,
    story: STORY,
    cases: [],
    expected: {
      injected: { by: [injected] },
      shown: {
        orders: meanwhile,
        failures: [failure],
        account: 'open: outage',
        'orders that need a person': 0,
        'budgets used up': false,
      },
      checkpoint: { orders: { 'authorized: Authorized': 2 }, effects: { creates: 2, confirms: 2 } },
      recovery: { alerts: 1, 'alerts that it is over': 1, 'acts of people': 0, 'processes that went on': 2 },
      final: {
        orders: { 'fulfilled: Fulfilled': 4 },
        captured: 4 * 12_900,
        refunded: 0,
        effects: { creates: 4, confirms: 4, captures: 2 },
        stock: { committed: 4 },
      },
      left: NOTHING_LEFT,
    },
  };
}

export const BLOCKED_RUNS: readonly BlockedRun[] = [
  run(
    'refusing',
    'The provider refuses connections',
    { by: 'proxy', mode: 'refuse' },
    ['proxy: refuse', 'outage not_connected'],
    { 'accepted: ProviderUnreachable': 2, 'authorized: ProviderUnreachable': 2 },
  ),
  run(
    'silent',
    'The provider accepts connections and says nothing',
    { by: 'proxy', mode: 'hang' },
    ['proxy: hang', 'outage timeout'],
    { 'payment_unknown: AwaitingProviderReconciliation': 2, 'authorized: ProviderUnreachable': 2 },
  ),
  run(
    'resetting',
    'The provider does what is asked and resets the connection before it answers',
    { by: 'fault', kind: 'effect_then_drop' },
    ['effect_then_drop', 'outage connection_lost'],
    { 'payment_unknown: AwaitingProviderReconciliation': 2, 'authorized: ProviderUnreachable': 2 },
  ),
  run(
    'unavailable',
    'A gateway answers 503 with a page to everything',
    { by: 'outage', mode: 'unavailable' },
    ['outage:unavailable', 'outage invalid_body'],
    { 'payment_unknown: AwaitingProviderReconciliation': 2, 'authorized: ProviderUnreachable': 2 },
  ),
  run(
    'captive',
    'Another network answers 200 with a page of its own',
    { by: 'fault', kind: 'html_200' },
    ['html_200', 'outage invalid_body'],
    { 'payment_unknown: AwaitingProviderReconciliation': 2, 'authorized: ProviderUnreachable': 2 },
  ),
  run(
    'truncating',
    'The provider does what is asked, and half of each answer arrives',
    { by: 'fault', kind: 'truncated_json' },
    ['truncated_json', 'outage invalid_body'],
    { 'payment_unknown: AwaitingProviderReconciliation': 2, 'authorized: ProviderUnreachable': 2 },
  ),
];
