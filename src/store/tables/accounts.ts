import { type Kysely, sql } from 'kysely'
import { type AccountDefaults, NO_DEFAULTS } from '../../core/tokens/accountDefaults.ts'
import type { Account } from '../store.ts'
import { dbFlag } from '../columns.ts'
import { statement, Verbs } from '../executor.ts'
import { fieldsOf, type FieldsOf, insertion, rowOf } from '../records.ts'
import { type DB, namesOf } from '../schema.ts'
import { lockRows } from './lockRows.ts'

const NAME = ['id', 'name', 'created_at_ms'] as const
const DEFAULTS = [
  'default_cluster',
  'allowed_countries',
  'denied_countries',
  'geo_cascade',
  'recording_days',
  'log_admissions',
  'version',
] as const
type DefaultFields = FieldsOf<'accounts', (typeof DEFAULTS)[number]>

const accounts = (db: Kysely<DB>) => db.selectFrom('accounts').select(fieldsOf('accounts', NAME))

const get = statement((db, p: { id: string }) => accounts(db).where('id', '=', p.id))

const list = statement((db) => accounts(db).orderBy('created_at_ms').orderBy('id'))

const insert = insertion('accounts', namesOf('accounts'))

const defaults = (db: Kysely<DB>, p: { id: string }) =>
  db.selectFrom('accounts').select(fieldsOf('accounts', DEFAULTS)).where('id', '=', p.id)

const defaultsOf = statement(defaults)

const lock = statement((db, p: { id: string }, dialect) =>
  lockRows(dialect, db.selectFrom('accounts').select('id').where('id', '=', p.id), 'update'),
)

const lockDefaults = statement((db, p: { id: string }, dialect) => lockRows(dialect, defaults(db, p), 'update'))

const setDefaults = statement((db, p: DefaultFields & { id: string }) =>
  db
    .updateTable('accounts')
    .set(rowOf('accounts', DEFAULTS, p))
    .where('id', '=', p.id),
)

export class AccountReadVerbs extends Verbs {
  get(id: string): Promise<Account | undefined> {
    return this.executor.first(get, { id })
  }

  list(): Promise<Account[]> {
    return this.executor.all(list, {})
  }

  async defaults(id: string): Promise<AccountDefaults | undefined> {
    const row = await this.executor.first(defaultsOf, { id })
    return row && toDefaults(row)
  }
}

export class AccountTxVerbs extends AccountReadVerbs {
  async lockAll(): Promise<void> {
    if (this.executor.dialect.name === 'postgres')
      await this.executor.change(() => sql`lock table accounts in share row exclusive mode`)
  }

  async lock(id: string): Promise<void> {
    await this.executor.first(lock, { id })
  }

  insert(account: Account): Promise<void> {
    return insert(this.executor, [{ ...account, ...fromDefaults(NO_DEFAULTS) }])
  }

  async lockDefaults(id: string): Promise<AccountDefaults | undefined> {
    const row = await this.executor.first(lockDefaults, { id })
    return row && toDefaults(row)
  }

  async setDefaults(id: string, defaults: AccountDefaults): Promise<void> {
    await this.executor.run(setDefaults, { id, ...fromDefaults(defaults) })
  }
}

const toDefaults = (row: DefaultFields): AccountDefaults => ({
  ...row,
  defaultCluster: row.defaultCluster ?? NO_DEFAULTS.defaultCluster,
  allowedCountries: JSON.parse(row.allowedCountries) as string[],
  deniedCountries: JSON.parse(row.deniedCountries) as string[],
  geoCascade: row.geoCascade === null ? null : (JSON.parse(row.geoCascade) as string[]),
  logAdmissions: row.logAdmissions === 1,
})

const fromDefaults = (defaults: AccountDefaults): DefaultFields => ({
  ...defaults,
  defaultCluster: defaults.defaultCluster === NO_DEFAULTS.defaultCluster ? null : defaults.defaultCluster,
  allowedCountries: JSON.stringify(defaults.allowedCountries),
  deniedCountries: JSON.stringify(defaults.deniedCountries),
  geoCascade: defaults.geoCascade && JSON.stringify(defaults.geoCascade),
  logAdmissions: dbFlag(defaults.logAdmissions),
})
