import { type Executor, statement } from '../executor.ts'
import type { SetupCode } from '../store.ts'
import { columnsOf } from '../tableColumns.ts'

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

const prune = statement((db, p: { beforeMs: number; limit: number }) =>
  db
    .deleteFrom('setup_codes')
    .where('hash', 'in', (eb) =>
      eb
        .selectFrom('setup_codes as old')
        .select('old.hash')
        .where('old.expires_at_ms', '<', p.beforeMs)
        .orderBy('old.expires_at_ms')
        .limit(p.limit),
    ),
)

export async function findSetupCode(executor: Executor, hash: Uint8Array): Promise<SetupCode | undefined> {
  const row = await executor.first(byHash, { hash })
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

export async function insertSetupCode(
  executor: Executor,
  code: Omit<SetupCode, 'usedAtMs'> & { hash: Uint8Array },
): Promise<void> {
  await executor.run(insert, { ...code, firstOnly: code.firstOnly ? 1 : 0 })
}

export async function useSetupCode(executor: Executor, hash: Uint8Array, atMs: number): Promise<boolean> {
  return (await executor.run(use, { hash, atMs })) > 0
}

export async function pruneSetupCodes(executor: Executor, beforeMs: number, limit: number): Promise<number> {
  return executor.run(prune, { beforeMs, limit })
}
