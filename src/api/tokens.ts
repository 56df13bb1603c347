/** Injection tokens of what is handed in; interfaces do not exist at run time. */
export const READINESS = Symbol('Readiness');
export const METRICS = Symbol('Metrics');
export const LOGGER = Symbol('Logger');
export const STORE = Symbol('OperationStore');
export const FINDINGS = Symbol('findings');
export const BELL = Symbol('Bell');
export const PLANNER = Symbol('Planner');
export const COMMANDS = Symbol('Commands');
export const BULK = Symbol('BulkCommands');
export const CLIENT_SECRETS = Symbol('ClientSecrets');
export const CLOCK = Symbol('Clock');
export const POLICY = Symbol('Policy');
export const ACCOUNTS = Symbol('accounts');
export const DESK = Symbol('SupportDesk');
export const INBOX = Symbol('EventInbox');
export const WEBHOOK_SECRETS = Symbol('webhook secrets');
export const AMOUNT_PROBLEM = Symbol('AmountProblem');
