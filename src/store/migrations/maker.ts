import { type CreateTableBuilder, type Kysely, sql } from 'kysely'
import type { DialectName } from '../executor.ts'

const TYPES = {
  sqlite: {
    serial: 'integer primary key autoincrement',
    big: 'integer',
    flag: 'integer',
    text: 'text',
    bytes: 'blob',
    token: 'integer',
    feed: 'text',
    session: 'text',
    node: 'text',
    xid: '',
  },
  // "C": both databases order text by its UTF-8 bytes.
  postgres: {
    serial: 'bigint generated always as identity primary key',
    big: 'bigint',
    flag: 'smallint',
    text: 'text collate "C"',
    bytes: 'bytea',
    token: 'bigint',
    feed: 'text collate "C"',
    session: 'text collate "C"',
    node: 'text collate "C"',
    xid: 'xid8 default pg_current_xact_id()',
  },
} as const

/** Columns of these types name a row of a table, and their row is deleted with it. */
const PARENTS: Readonly<Record<string, string>> = {
  token: 'tokens.id',
  feed: 'feeds.id',
  session: 'sessions.id',
  node: 'serving_nodes.id',
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
    const words = sql.raw(TYPES[this.engine][type as ColumnType])
    return table.addColumn(name, words, (c) => {
      const rule = extra === 'null' ? c : c.notNull()
      if (extra === 'key') return rule.primaryKey()
      const parent = PARENTS[type]
      return parent === undefined ? rule : rule.references(parent).onDelete('cascade')
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

  async insertMeta(...keys: string[]): Promise<void> {
    for (const key of keys) await sql`insert into meta (key, value) values (${key}, 0)`.execute(this.#db)
  }
}
