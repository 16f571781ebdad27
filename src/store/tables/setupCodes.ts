import { statement, Verbs } from '../executor.ts'
import { columnsOf } from '../schema.ts'
import type { SetupCode } from '../store.ts'
import { pruning } from './pruning.ts'

const byHash = statement((db, p: { hash: Uint8Array }) =>
  db.selectFrom('setup_codes').select(columnsOf('setup_codes')).where('hash', '=', p.hash),
)

const insert = statement((db, p: Omit<SetupCode, 'usedAtMs' | 'firstOnly'> & { hash: Uint8Array; firstOnly: 0 | 1 }) =>
  db.insertInto('setup_codes').values({
    hash: p.hash,
    account_id: p.accountId,
    role: p.role,
    first_only: p.firstOnly,
    created_at_ms: p.createdAtMs,
    expires_at_ms: p.expiresAtMs,
  }),
)

const use = statement((db, p: { hash: Uint8Array; atMs: number }) =>
  db.updateTable('setup_codes').set({ used_at_ms: p.atMs }).where('hash', '=', p.hash).where('used_at_ms', 'is', null),
)

const prune = pruning('setup_codes', 'expires_at_ms', ['hash'])

export class SetupCodeReadVerbs extends Verbs {
  async find(hash: Uint8Array): Promise<SetupCode | undefined> {
    const row = await this.executor.first(byHash, { hash })
    return (
      row && {
        accountId: row.account_id,
        role: row.role,
        firstOnly: row.first_only === 1,
        createdAtMs: row.created_at_ms,
        expiresAtMs: row.expires_at_ms,
        usedAtMs: row.used_at_ms,
      }
    )
  }
}

export class SetupCodeTxVerbs extends SetupCodeReadVerbs {
  async insert(code: Omit<SetupCode, 'usedAtMs'> & { hash: Uint8Array }): Promise<void> {
    await this.executor.run(insert, { ...code, firstOnly: code.firstOnly ? 1 : 0 })
  }

  async use(hash: Uint8Array, atMs: number): Promise<boolean> {
    return (await this.executor.run(use, { hash, atMs })) > 0
  }

  async prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}
