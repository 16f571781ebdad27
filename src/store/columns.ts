import type { Generated } from 'kysely'

/** A boolean in SQLite. */
export type DbBoolean = 0 | 1

export const dbFlag = (value: boolean): DbBoolean => (value ? 1 : 0)

// The types of columns, as values: a table of the schema is an object of them, so that its columns have names at run time,
// too. `sqlTypesOf` reads the types of those that are never null from the values; nothing else uses these.
export const TEXT: string = ''
export const TEXT_OR_NULL: string | null = null as string | null
export const NUMBER: number = 0
export const NUMBER_OR_NULL: number | null = null as number | null
export const FLAG: DbBoolean = 0
export const FLAG_OR_NULL: DbBoolean | null = null as DbBoolean | null
export const BYTES: Uint8Array = new Uint8Array()
export const BYTES_OR_NULL: Uint8Array | null = null as Uint8Array | null
/** A number that the database assigns. */
export const SERIAL = 0 as unknown as Generated<number>
/** The number of a transaction in PostgreSQL, which assigns it. */
export const XID = '' as unknown as Generated<string>
