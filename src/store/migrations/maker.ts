import { type CreateTableBuilder, type Kysely, sql } from 'kysely'
import type { DialectName } from '../executor.ts'

const TYPES = {
  sqlite: {
    serial: 'integer primary key autoincrement',
    big: 'integer',
    flag: 'integer',
    text: 'text',
    bytes: 'blob',
    xid: '',
  },
  // "C": both databases order text by its UTF-8 bytes.
  postgres: {
    serial: 'bigint generated always as identity primary key',
    big: 'bigint',
    flag: 'smallint',
    text: 'text collate "C"',
    bytes: 'bytea',
    xid: 'xid8 default pg_current_xact_id()',
  },
} as const

/** Columns of these types name a row of a table, and their row is deleted with it. */
const PARENTS: Readonly<Record<string, { readonly id: string; readonly type: 'big' | 'text' }>> = {
  channel: { id: 'channels.id', type: 'text' },
  distribution: { id: 'distributions.id', type: 'text' },
  feed: { id: 'feeds.id', type: 'text' },
  node: { id: 'serving_nodes.id', type: 'text' },
  scheduler: { id: 'schedulers.id', type: 'text' },
  token: { id: 'tokens.id', type: 'big' },
  user: { id: 'users.id', type: 'big' },
}

type ColumnType = keyof (typeof TYPES)['sqlite']

/** Creates tables in the SQL dialect from columns given as `name type [null | key], …`. */
export class Maker {
  readonly engine: DialectName
  readonly #db: Kysely<unknown>

  constructor(db: Kysely<unknown>, engine: DialectName) {
    this.#db = db
    this.engine = engine
  }

  async table(name: string, columns: string, key?: string[]): Promise<void> {
    let table: CreateTableBuilder<string, string> = this.#db.schema.createTable(name)
    for (const column of columns.split(',')) table = this.#column(table, column)
    if (key) table = table.addPrimaryKeyConstraint(`${name}_pkey`, key)
    if (key && this.engine === 'sqlite') table = table.modifyEnd(sql`without rowid`)
    await table.execute()
  }

  #column(table: CreateTableBuilder<string, string>, column: string): CreateTableBuilder<string, string> {
    const [name = '', type = '', extra] = column.trim().split(' ')
    const parent = PARENTS[type]
    const words = sql.raw(TYPES[this.engine][parent?.type ?? (type as ColumnType)])
    return table.addColumn(name, words, (c) => {
      const rule = extra === 'null' ? c : c.notNull()
      if (extra === 'key') return rule.primaryKey()
      return parent === undefined ? rule : rule.references(parent.id).onDelete('cascade')
    })
  }

  async unique(name: string, table: string, columns: string[], only?: string): Promise<void> {
    const index = this.#db.schema.createIndex(name).on(table).columns(columns).unique()
    await (only ? index.where(sql<boolean>`${sql.raw(only)}`) : index).execute()
  }

  async index(name: string, table: string, columns: string[], only?: string): Promise<void> {
    const index = this.#db.schema.createIndex(name).on(table).columns(columns)
    await (only ? index.where(sql<boolean>`${sql.raw(only)}`) : index).execute()
  }

  /**
   * Tells SQLite how many rows the indexes of a table without rowid have, and how many share the first columns, the first two
   * and so on, as `analyze` would for a large table. Without it, SQLite takes the first column of the key, the account, for as
   * selective as any other, and reads the table in the order of its key whatever is searched. PostgreSQL counts on its own.
   */
  async sizes(table: string, sizes: Readonly<Record<string, string>>): Promise<void> {
    if (this.engine !== 'sqlite') return
    // Makes the table of the figures. There are no rows to analyze yet.
    await sql`analyze ${sql.table(table)}`.execute(this.#db)
    await sql`delete from sqlite_stat1 where tbl = ${table}`.execute(this.#db)
    for (const [index, size] of Object.entries(sizes)) {
      await sql`insert into sqlite_stat1 (tbl, idx, stat) values (${table}, ${index}, ${size})`.execute(this.#db)
    }
  }

  async insertMeta(...keys: string[]): Promise<void> {
    for (const key of keys) await sql`insert into meta (key, value) values (${key}, 0)`.execute(this.#db)
  }
}
