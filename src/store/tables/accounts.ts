import type { Kysely } from 'kysely'
import { type AccountDefaults, NO_DEFAULTS } from '../../core/tokens/accountDefaults.ts'
import type { Account } from '../store.ts'
import { dbFlag } from '../columns.ts'
import { insertion, statement, Verbs } from '../executor.ts'
import { type DB, namesOf, type RowOf } from '../schema.ts'
import { lockRows } from './lockRows.ts'

type Row = RowOf<'accounts'>

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

const get = statement((db, p: { id: string }) => db.selectFrom('accounts').select(NAME).where('id', '=', p.id))

const list = statement((db) => db.selectFrom('accounts').select(NAME).orderBy('created_at_ms').orderBy('id'))

const insert = insertion('accounts', namesOf('accounts'))

const defaults = (db: Kysely<DB>, p: { id: string }) =>
  db.selectFrom('accounts').select(DEFAULTS).where('id', '=', p.id)

const defaultsOf = statement(defaults)

const lockDefaults = statement((db, p: { id: string }, dialect) => lockRows(dialect, defaults(db, p), 'update'))

const setDefaults = statement((db, p: Pick<Row, 'id' | (typeof DEFAULTS)[number]>) =>
  db
    .updateTable('accounts')
    .set({
      default_cluster: p.default_cluster,
      allowed_countries: p.allowed_countries,
      denied_countries: p.denied_countries,
      geo_cascade: p.geo_cascade,
      recording_days: p.recording_days,
      log_admissions: p.log_admissions,
      version: p.version,
    })
    .where('id', '=', p.id),
)

export class AccountReadVerbs extends Verbs {
  async get(id: string): Promise<Account | undefined> {
    const row = await this.executor.first(get, { id })
    return row && fromRow(row)
  }

  async list(): Promise<Account[]> {
    return (await this.executor.all(list, {})).map(fromRow)
  }

  async defaults(id: string): Promise<AccountDefaults | undefined> {
    const row = await this.executor.first(defaultsOf, { id })
    return row && toDefaults(row)
  }
}

export class AccountTxVerbs extends AccountReadVerbs {
  async insert({ id, name, createdAtMs }: Account): Promise<void> {
    await insert(this.executor, [{ id, name, created_at_ms: createdAtMs, ...fromDefaults(NO_DEFAULTS) }])
  }

  async lockDefaults(id: string): Promise<AccountDefaults | undefined> {
    const row = await this.executor.first(lockDefaults, { id })
    return row && toDefaults(row)
  }

  async setDefaults(id: string, defaults: AccountDefaults): Promise<void> {
    await this.executor.run(setDefaults, { id, ...fromDefaults(defaults) })
  }
}

function fromRow(row: Pick<Row, (typeof NAME)[number]>): Account {
  return { id: row.id, name: row.name, createdAtMs: row.created_at_ms }
}

const toDefaults = (row: Pick<Row, (typeof DEFAULTS)[number]>): AccountDefaults => ({
  defaultCluster: row.default_cluster ?? NO_DEFAULTS.defaultCluster,
  allowedCountries: JSON.parse(row.allowed_countries) as string[],
  deniedCountries: JSON.parse(row.denied_countries) as string[],
  geoCascade: row.geo_cascade === null ? null : (JSON.parse(row.geo_cascade) as string[]),
  recordingDays: row.recording_days,
  logAdmissions: row.log_admissions === 1,
  version: row.version,
})

const fromDefaults = ({
  defaultCluster,
  allowedCountries,
  deniedCountries,
  geoCascade,
  recordingDays,
  logAdmissions,
  version,
}: AccountDefaults) => ({
  default_cluster: defaultCluster === NO_DEFAULTS.defaultCluster ? null : defaultCluster,
  allowed_countries: JSON.stringify(allowedCountries),
  denied_countries: JSON.stringify(deniedCountries),
  geo_cascade: geoCascade && JSON.stringify(geoCascade),
  recording_days: recordingDays,
  log_admissions: dbFlag(logAdmissions),
  version,
})
