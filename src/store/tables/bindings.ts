import { sql } from 'kysely'
import { type Executor, statement } from '../executor.ts'
import type { BoundAddress, Tx } from '../store.ts'
import { columnsOf } from '../tableColumns.ts'
import { lockRows } from './lockRows.ts'

type Bind = Parameters<Tx['bindings']['bind']>[0]
type Use = Parameters<Tx['bindings']['touch']>[0][number]

const list = statement((db, p: { tokenId: number }) =>
  db.selectFrom('bindings').select(columnsOf('bindings')).where('token_id', '=', p.tokenId).orderBy('ord'),
)

const lockVersion = statement((db, p: { tokenId: number }, engine) => {
  const row = db.selectFrom('tokens').select('version').where('id', '=', p.tokenId)
  return lockRows(engine, row, 'update')
})

const last = statement((db, p: { tokenId: number }) =>
  db.selectFrom('bindings').select('ord').where('token_id', '=', p.tokenId).orderBy('ord', 'desc').limit(sql.lit(1)),
)

const insert = statement((db, p: { tokenId: number; ord: number; address: string; atMs: number }) =>
  db.insertInto('bindings').values({
    token_id: p.tokenId,
    ord: p.ord,
    address: p.address,
    first_used_at_ms: p.atMs,
    last_used_at_ms: p.atMs,
  }),
)

const find = statement((db, p: { tokenId: number; address: string }) =>
  db.selectFrom('bindings').select('ord').where('token_id', '=', p.tokenId).where('address', '=', p.address),
)

const stamp = statement((db, p: Use) =>
  db
    .updateTable('bindings')
    .set({ last_used_at_ms: p.atMs })
    .where('token_id', '=', p.tokenId)
    .where('address', '=', p.address)
    .where('last_used_at_ms', '<', p.atMs),
)

const removeAfter = statement((db, p: { tokenId: number; count: number }) =>
  db.deleteFrom('bindings').where('token_id', '=', p.tokenId).where('ord', '>', p.count),
)

export async function listBindings(executor: Executor, tokenId: number): Promise<BoundAddress[]> {
  const rows = await executor.all(list, { tokenId })
  return rows.map((row) => ({
    address: row.address,
    firstUsedAtMs: row.first_used_at_ms,
    lastUsedAtMs: row.last_used_at_ms,
  }))
}

/** Exact because it first locks the token's row: two transactions that bind to one token run one after the other. */
export async function bindAddress(executor: Executor, input: Bind): Promise<'bound' | 'known' | 'full' | 'changed'> {
  const { tokenId, address, atMs } = input
  const token = await executor.first(lockVersion, { tokenId })
  if (token?.version !== input.version) return 'changed'
  if (await executor.first(find, { tokenId, address })) {
    await executor.run(stamp, { tokenId, address, atMs })
    return 'known'
  }
  // `ord` is dense, so the last one is the count.
  const count = (await executor.first(last, { tokenId }))?.ord ?? 0
  if (count >= input.limit) return 'full'
  await executor.run(insert, { tokenId, ord: count + 1, address, atMs })
  return 'bound'
}

export async function keepEarliest(executor: Executor, tokenId: number, count: number): Promise<void> {
  await executor.first(lockVersion, { tokenId })
  await executor.run(removeAfter, { tokenId, count })
}

export async function clearBindings(executor: Executor, tokenId: number): Promise<number> {
  await executor.first(lockVersion, { tokenId })
  return executor.run(removeAfter, { tokenId, count: 0 })
}

export async function touchBindings(executor: Executor, uses: readonly Use[]): Promise<void> {
  // Every node uses the same order, so that two that update the same rows cannot deadlock.
  const sorted = uses.toSorted((a, b) => a.tokenId - b.tokenId || (a.address < b.address ? -1 : 1))
  for (const use of sorted) await executor.run(stamp, use)
}
