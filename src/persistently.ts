/** Work that is worth some patience: what it needs may be restarting. */

const TRIES = 5;
const PAUSE_MS = 200;

export interface Persistence {
  /** Failures that every repetition would meet again. */
  readonly isFutile?: (error: unknown) => boolean;
  readonly onFailure?: (error: unknown, tries: number) => void;
}

/** Tries for some seconds. Work that failed may have been carried out; it is told when it is asked `again`. */
export async function persistently<Result>(
  work: (again: boolean) => Promise<Result>,
  { isFutile, onFailure }: Persistence = {},
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work(tries > 1);
    } catch (error) {
      if (tries === TRIES || isFutile?.(error) === true) throw error;
      onFailure?.(error, tries);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * tries));
    }
  }
}
