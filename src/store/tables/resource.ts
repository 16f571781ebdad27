import type { Insertable, Kysely, Selectable } from 'kysely'
import { type Executor, inSlices, type Statement, statement } from '../executor.ts'
import { columnsOf, type DB } from '../schema.ts'
import { lockRows } from './lockRows.ts'

/** Tables whose rows have an id of their own and belong to an account. */
type ResourceName = {
  [T in keyof DB]: DB[T] extends Common ? T : never
}[keyof DB]

interface Common {
  id: string
  account_id: string
}

/** Stands for any of them where only the id and the account matter. */
type AnyTable = Kysely<{ resources: Common }>

/** Converts between a resource and its row. */
interface Shape<Row, T> {
  toRow(value: T): Insertable<Row>
  fromRow(row: Selectable<Row>): T
  /** Columns that `replace` leaves unchanged. */
  unchanged: readonly (keyof Row)[]
}

/** The verbs that all tables of resources share. */
export class ResourceStatements<N extends ResourceName, T extends { id: string }> {
  readonly #table: 'resources'
  readonly #shape: Shape<DB[N], T>
  readonly #byId: Statement<{ accountId: string; id: string }, Common>
  readonly #lock: Statement<{ accountId: string; id: string }, Common>
  readonly #remove: Statement<{ id: string }, unknown>

  constructor(table: N, shape: Shape<DB[N], T>) {
    const name = table as unknown as 'resources'
    this.#table = name
    this.#shape = shape
    const columns = columnsOf(table) as readonly unknown[] as readonly ('resources.id' | 'resources.account_id')[]
    const owned = (db: unknown, p: { accountId: string; id: string }) =>
      (db as AnyTable).selectFrom(name).select(columns).where('id', '=', p.id).where('account_id', '=', p.accountId)
    this.#byId = statement(owned)
    this.#lock = statement((db, p: { accountId: string; id: string }, dialect) =>
      lockRows(dialect, owned(db, p), 'update'),
    )
    this.#remove = statement((db, p: { id: string }) =>
      (db as unknown as AnyTable).deleteFrom(name).where('id', '=', p.id),
    )
  }

  /** Converts rows of any query on this table into resources. */
  read(rows: readonly unknown[]): T[] {
    return rows.map((row) => this.#shape.fromRow(row as Selectable<DB[N]>))
  }

  async get(executor: Executor, accountId: string, id: string): Promise<T | undefined> {
    return this.read(await executor.all(this.#byId, { accountId, id }))[0]
  }

  async lock(executor: Executor, accountId: string, id: string): Promise<T | undefined> {
    return this.read(await executor.all(this.#lock, { accountId, id }))[0]
  }

  insert(executor: Executor, values: readonly T[]): Promise<void> {
    const rows = values.map((value) => this.#shape.toRow(value) as unknown as Common)
    return inSlices(rows, (slice) =>
      executor.change((db) => (db as unknown as AnyTable).insertInto(this.#table).values(slice)),
    )
  }

  async replace(executor: Executor, value: T): Promise<void> {
    const unchanged = new Set<PropertyKey>(['id', ...this.#shape.unchanged])
    const entries = Object.entries(this.#shape.toRow(value) as object).filter(([column]) => !unchanged.has(column))
    const row = Object.fromEntries(entries) as Partial<Common>
    await executor.change((db) =>
      (db as unknown as AnyTable).updateTable(this.#table).set(row).where('id', '=', value.id),
    )
  }

  async delete(executor: Executor, id: string): Promise<void> {
    await executor.run(this.#remove, { id })
  }
}

type PartTable = Kysely<{ parts: Common & { channel_id: string; created_at_ms: number } }>

/** The verbs that the tables of a channel's parts share. */
export class PartStatements<
  N extends 'ingests' | 'engines' | 'distributions',
  T extends { id: string },
> extends ResourceStatements<N, T> {
  readonly #ofChannel: Statement<{ channelId: string }, unknown>
  readonly #count: Statement<{ channelId: string }, { n: number }>

  constructor(table: N, shape: Shape<DB[N], T>) {
    super(table, shape)
    const columns = columnsOf(table) as readonly unknown[] as readonly 'parts.id'[]
    const parts = (db: unknown, p: { channelId: string }) =>
      (db as PartTable).selectFrom(table as unknown as 'parts').where('channel_id', '=', p.channelId)
    this.#ofChannel = statement((db, p: { channelId: string }) =>
      parts(db, p).select(columns).orderBy('created_at_ms').orderBy('id'),
    )
    this.#count = statement((db, p: { channelId: string }) =>
      parts(db, p).select((eb) => eb.fn.countAll<number>().as('n')),
    )
  }

  async ofChannel(executor: Executor, channelId: string): Promise<T[]> {
    return this.read(await executor.all(this.#ofChannel, { channelId }))
  }

  async count(executor: Executor, channelId: string): Promise<number> {
    return (await executor.first(this.#count, { channelId }))?.n ?? 0
  }
}
