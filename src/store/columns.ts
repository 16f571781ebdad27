/** What SQLite keeps of a boolean. */
export type DbBoolean = 0 | 1
