/** The only reader of the process clock and of randomness; everything else takes them as arguments. */
export interface Clock {
  /** The current time. The database has its own clock, which alone decides about leases. */
  now(): Date;
  /** Uniform in [0, 1). */
  random(): number;
}

export const systemClock: Clock = { now: () => new Date(), random: () => Math.random() };
