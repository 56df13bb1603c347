/** The bell: says that fresh work may be due. It is a hint; a lost ring costs latency and nothing else. */
export interface Bell {
  /** Returns at once and never throws, whatever the state of the queue. */
  ring(): void;
}
