/** A boolean in SQLite. */
export type DbBoolean = 0 | 1
