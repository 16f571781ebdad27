/** Whether a location of the database is the URL of a PostgreSQL server; else it is a file of SQLite. */
export const isPostgresUrl = (location: string): boolean => /^postgres(ql)?:\/\//.test(location)
