/** Cursors of lists by id: the id of the last row as opaque text, which fits no other list. */
export interface Cursor {
  write(id: string): string;
  /** Null: it was not given out by this list. */
  read(cursor: string): string | null;
}

export const cursorOf = (list: string): Cursor => ({
  write: (id) => Buffer.from(`${list}:${id}`).toString('base64url'),
  read(cursor) {
    const [from, id = ''] = Buffer.from(cursor, 'base64url').toString('utf8').split(':', 2);
    return from === list && /^[0-9]{1,18}$/.test(id) ? id : null;
  },
});
