import type { Kysely } from 'kysely'
import { inSlices, type Statement, statement, Verbs } from '../executor.ts'
import { fieldsOf, type FieldsOf, rowOf } from '../records.ts'
import { type DB, namesOf } from '../schema.ts'
import { lockRows } from './lockRows.ts'

interface Common {
  id: string | number
  account_id: string
}

/** Tables whose rows have an id of their own and belong to an account. */
type OwnedName = {
  [T in keyof DB]: DB[T] extends { id: unknown; account_id: string } ? T : never
}[keyof DB]

/** Those whose ids are made here, and not by the database. */
type ResourceName = {
  [T in OwnedName]: DB[T] extends { id: string } ? T : never
}[OwnedName]

/** Stands for any of them where only the id and the account matter. */
type AnyTable = Kysely<{ resources: Common }>

interface Owned {
  accountId: string
  id: string | number
}

/** The statements that all tables share whose rows belong to an account. */
class OwnedTable<T> {
  readonly name: 'resources'
  readonly byId: Statement<Owned, unknown>
  readonly lock: Statement<Owned, unknown>
  readonly remove: Statement<Pick<Owned, 'id'>, unknown>
  readonly #fromRow: (row: never) => T

  /** @param fields what is selected of a row */
  constructor(table: OwnedName, fields: readonly string[], fromRow: (row: never) => T) {
    this.name = table as unknown as 'resources'
    this.#fromRow = fromRow
    const owned = (db: unknown, p: Owned) =>
      (db as AnyTable)
        .selectFrom(this.name)
        .select(fields as 'resources.id'[])
        .where('id', '=', p.id)
        .where('account_id', '=', p.accountId)
    this.byId = statement(owned)
    this.lock = statement((db, p: Owned, dialect) => lockRows(dialect, owned(db, p), 'update'))
    this.remove = statement((db, p: Pick<Owned, 'id'>) =>
      (db as unknown as AnyTable).deleteFrom(this.name).where('id', '=', p.id),
    )
  }

  /** Converts rows of any query on this table. */
  read(rows: readonly unknown[]): T[] {
    return rows.map((row) => this.#fromRow(row as never))
  }
}

/** The verbs that all of them share. `Reads` and `Tx` say which of them callers have. */
abstract class OwnedVerbs<T, Id extends string | number> extends Verbs {
  protected abstract readonly table: OwnedTable<T>

  async get(accountId: string, id: Id): Promise<T | undefined> {
    return this.table.read(await this.executor.all(this.table.byId, { accountId, id }))[0]
  }

  async lock(accountId: string, id: Id): Promise<T | undefined> {
    return this.table.read(await this.executor.all(this.table.lock, { accountId, id }))[0]
  }

  async delete(id: Id): Promise<void> {
    await this.executor.run(this.table.remove, { id })
  }
}

/** The statements of a table whose rows the database numbers. */
export class NumberedTable<T> extends OwnedTable<T> {
  readonly ofAccount: Statement<{ accountId: string }, unknown>

  constructor(table: OwnedName, fields: readonly string[], fromRow: (row: never) => T) {
    super(table, fields, fromRow)
    this.ofAccount = statement((db, p: { accountId: string }) =>
      (db as unknown as AnyTable)
        .selectFrom(this.name)
        .select(fields as 'resources.id'[])
        .where('account_id', '=', p.accountId)
        .orderBy('id'),
    )
  }
}

/** Its verbs. */
export abstract class NumberedVerbs<T> extends OwnedVerbs<T, number> {
  protected abstract override readonly table: NumberedTable<T>

  async list(accountId: string): Promise<T[]> {
    return this.table.read(await this.executor.all(this.table.ofAccount, { accountId }))
  }
}

/** Converts between a resource and its row. */
interface Shape<N extends ResourceName, T> {
  toRow(value: T): FieldsOf<N>
  fromRow(row: FieldsOf<N>): T
  /** Columns that `replace` leaves unchanged. */
  unchanged?: readonly (keyof DB[N])[]
}

/** The statements of a table whose rows are written as they are, with their ids. */
export class ResourceTable<N extends ResourceName, T> extends OwnedTable<T> {
  readonly #table: N
  readonly #shape: Shape<N, T>

  constructor(table: N, shape: Shape<N, T>) {
    super(table, fieldsOf(table), (row: FieldsOf<N>) => shape.fromRow(row))
    this.#table = table
    this.#shape = shape
  }

  /** The row of a new resource. */
  newRow(value: T): Common {
    return rowOf(this.#table, namesOf(this.#table), this.#shape.toRow(value)) as unknown as Common
  }

  /** What `replace` changes of a row. */
  changedColumns(value: T): Partial<Common> {
    const unchanged = new Set<PropertyKey>(['id', ...(this.#shape.unchanged ?? [])])
    const changed = namesOf(this.#table).filter((column) => !unchanged.has(column))
    return rowOf(this.#table, changed, this.#shape.toRow(value))
  }
}

/** Its verbs. */
export abstract class ResourceVerbs<N extends ResourceName, T extends { id: string }> extends OwnedVerbs<T, string> {
  protected abstract override readonly table: ResourceTable<N, T>

  insert(...values: T[]): Promise<void> {
    const rows = values.map((value) => this.table.newRow(value))
    return inSlices(rows, (slice) =>
      this.executor.change((db) => (db as unknown as AnyTable).insertInto(this.table.name).values(slice)),
    )
  }

  async replace(value: T): Promise<void> {
    const row = this.table.changedColumns(value)
    await this.executor.change((db) =>
      (db as unknown as AnyTable).updateTable(this.table.name).set(row).where('id', '=', value.id),
    )
  }
}

type PartTables = Kysely<{ parts: Common & { channel_id: string; created_at_ms: number } }>

/** The statements that the tables of a channel's parts share. */
export class PartTable<N extends 'ingests' | 'engines' | 'distributions', T> extends ResourceTable<N, T> {
  readonly ofChannel: Statement<{ channelId: string }, unknown>
  readonly count: Statement<{ channelId: string }, { n: number }>

  constructor(table: N, shape: Shape<N, T>) {
    super(table, shape)
    const parts = (db: unknown, p: { channelId: string }) =>
      (db as PartTables).selectFrom(table as unknown as 'parts').where('channel_id', '=', p.channelId)
    this.ofChannel = statement((db, p: { channelId: string }) =>
      parts(db, p)
        .select(fieldsOf(table) as unknown as 'parts.id'[])
        .orderBy('created_at_ms')
        .orderBy('id'),
    )
    this.count = statement((db, p: { channelId: string }) =>
      parts(db, p).select((eb) => eb.fn.countAll<number>().as('n')),
    )
  }
}

/** The verbs that a channel's parts share. */
export abstract class PartVerbs<
  N extends 'ingests' | 'engines' | 'distributions',
  T extends { id: string },
> extends ResourceVerbs<N, T> {
  protected abstract override readonly table: PartTable<N, T>

  async ofChannel(channelId: string): Promise<T[]> {
    return this.table.read(await this.executor.all(this.table.ofChannel, { channelId }))
  }

  async count(channelId: string): Promise<number> {
    return (await this.executor.first(this.table.count, { channelId }))?.n ?? 0
  }
}
