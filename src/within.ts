/** Waiting with an end. The work itself is not stopped: whoever asks must be right whether or not it goes on. */

/** The answer did not come within the time given. */
export class TooLate extends Error {
  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
    this.name = 'TooLate';
  }
}

/** The answer, if it comes within `ms`; else rejects with TooLate. */
export async function within<Answer>(ms: number, answer: Promise<Answer>): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TooLate(ms)), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
