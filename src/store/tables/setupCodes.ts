import { dbFlag } from '../columns.ts'
import { statement, Verbs } from '../executor.ts'
import { fieldsOf, insertion } from '../records.ts'
import type { SetupCode } from '../store.ts'
import { pruning } from './pruning.ts'

const GIVEN = ['account_id', 'role', 'first_only', 'created_at_ms', 'expires_at_ms'] as const

const byHash = statement((db, p: { hash: Uint8Array }) =>
  db
    .selectFrom('setup_codes')
    .select(fieldsOf('setup_codes', [...GIVEN, 'used_at_ms']))
    .where('hash', '=', p.hash),
)

const insert = insertion('setup_codes', ['hash', ...GIVEN])

const use = statement((db, p: { hash: Uint8Array; atMs: number }) =>
  db.updateTable('setup_codes').set({ used_at_ms: p.atMs }).where('hash', '=', p.hash).where('used_at_ms', 'is', null),
)

const prune = pruning('setup_codes', 'expires_at_ms', ['hash'])

export class SetupCodeReadVerbs extends Verbs {
  async find(hash: Uint8Array): Promise<SetupCode | undefined> {
    const row = await this.executor.first(byHash, { hash })
    return row && { ...row, firstOnly: row.firstOnly === 1 }
  }
}

export class SetupCodeTxVerbs extends SetupCodeReadVerbs {
  async insert(code: Omit<SetupCode, 'usedAtMs'> & { hash: Uint8Array }): Promise<void> {
    await insert(this.executor, [{ ...code, firstOnly: dbFlag(code.firstOnly) }])
  }

  async use(hash: Uint8Array, atMs: number): Promise<boolean> {
    return (await this.executor.run(use, { hash, atMs })) > 0
  }

  async prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}
