/** Where the page of failures explains a word. */

/** A path of this service, so that it leads there from every deployment. */
export const FAILURES_PAGE = '/docs/failures';

export const anchorName = (kind: 'reason' | 'class' | 'code' | 'problem', word: string): string =>
  `${kind}-${word}`;

export const anchorOf = (kind: Parameters<typeof anchorName>[0], word: string): string =>
  `${FAILURES_PAGE}#${anchorName(kind, word)}`;
