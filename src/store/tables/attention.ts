import { sql } from 'kysely'
import type { TokenKind } from '../../core/tokens/types.ts'
import { statement, Verbs } from '../executor.ts'
import { fieldsOf } from '../records.ts'
import { MIGRATIONS } from '../migrations/migrate.ts'
import type { ExpiringQuery, ExpiringToken } from '../attention.ts'

const expiring = statement((db, p: ExpiringQuery) =>
  db
    .selectFrom('tokens')
    .select(fieldsOf('tokens', ['id', 'kind', 'label', 'expires_at_ms']))
    .where('account_id', '=', p.accountId)
    .where('is_active', '=', sql.lit(1 as const))
    .where('expires_at_ms', '>', p.fromMs)
    .where('expires_at_ms', '<=', p.untilMs)
    .orderBy('expires_at_ms')
    .orderBy('id')
    .limit(p.limit),
)

export class AttentionReadVerbs extends Verbs {
  async expiringTokens(query: ExpiringQuery): Promise<ExpiringToken[]> {
    const rows = await this.executor.all(expiring, query)
    return rows.map((row) => ({ ...row, kind: row.kind as TokenKind, expiresAtMs: row.expiresAtMs ?? 0 }))
  }

  async tokensNamingCountries(accountId: string, limit: number): Promise<number> {
    return (await this.executor.all(countries, { accountId, limit })).length
  }

  async unknownMigrations(): Promise<string[]> {
    const rows = await this.executor.ask(() => sql<{ name: string }>`select name from kysely_migration order by name`)
    return rows.map(({ name }) => name).filter((name) => !MIGRATIONS.has(name))
  }
}

/** In the words of the partial index. */
const countries = statement((db, p: { accountId: string; limit: number }) =>
  db
    .selectFrom('tokens')
    .select('id')
    .where('account_id', '=', p.accountId)
    .where(sql<boolean>`(allowed_countries <> '[]' or denied_countries <> '[]')`)
    .limit(p.limit),
)
