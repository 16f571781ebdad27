import { sql } from 'kysely'
import { inSlices, statement, Verbs } from '../executor.ts'
import { fieldsOf } from '../records.ts'
import { RowTable } from '../rowTable.ts'
import type { BoundAddress, Tx } from '../store.ts'
import { lockRows } from './lockRows.ts'

type Bind = Parameters<Tx['bindings']['bind']>[0]
type Use = Parameters<Tx['bindings']['touch']>[0][number]

const list = statement((db, p: { tokenId: number }) =>
  db
    .selectFrom('bindings')
    .select(fieldsOf('bindings', ['address', 'first_used_at_ms', 'last_used_at_ms']))
    .where('token_id', '=', p.tokenId)
    .orderBy('ord'),
)

const lockVersion = statement((db, p: { tokenId: number }, dialect) => {
  const row = db.selectFrom('tokens').select('version').where('id', '=', p.tokenId)
  return lockRows(dialect, row, 'update')
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

const USES = new RowTable('used', { used_token: 'bigint', used_address: 'text', at_ms: 'bigint' })

/**
 * Leaves out what another transaction has locked, which binds the address, forgets it, or deletes its token: to wait for it, with
 * others locked already, might be a deadlock.
 */
const touch = statement(
  (
    _,
    p: ReturnType<typeof USES.params>,
    dialect,
  ) => sql`with stamped as (select token_id, address, at_ms from ${USES.from(p, dialect)}
        join bindings on token_id = used_token and address = used_address where last_used_at_ms < at_ms
        ${sql.raw(dialect === 'postgres' ? 'for update of bindings skip locked' : '')})
      update bindings set last_used_at_ms = at_ms from stamped
      where bindings.token_id = stamped.token_id and bindings.address = stamped.address`,
)

const removeAfter = statement((db, p: { tokenId: number; count: number }) =>
  db.deleteFrom('bindings').where('token_id', '=', p.tokenId).where('ord', '>', p.count),
)

export class BindingReadVerbs extends Verbs {
  list(tokenId: number): Promise<BoundAddress[]> {
    return this.executor.all(list, { tokenId })
  }
}

export class BindingTxVerbs extends BindingReadVerbs {
  /** Exact because it first locks the token's row: two transactions that bind to one token run one after the other. */
  async bind(input: Bind): Promise<'bound' | 'known' | 'full' | 'changed'> {
    const { tokenId, address, atMs } = input
    const token = await this.executor.first(lockVersion, { tokenId })
    if (token?.version !== input.version) return 'changed'
    if (await this.executor.first(find, { tokenId, address })) {
      await this.executor.run(stamp, { tokenId, address, atMs })
      return 'known'
    }
    // `ord` is dense, so the last one is the count.
    const count = (await this.executor.first(last, { tokenId }))?.ord ?? 0
    if (count >= input.limit) return 'full'
    await this.executor.run(insert, { tokenId, ord: count + 1, address, atMs })
    return 'bound'
  }

  async bindFirst(tokenId: number, addresses: readonly string[], atMs: number): Promise<void> {
    const used = { first_used_at_ms: atMs, last_used_at_ms: atMs }
    const rows = addresses.map((address, at) => ({ token_id: tokenId, ord: at + 1, address, ...used }))
    await inSlices(rows, (slice) => this.executor.change((db) => db.insertInto('bindings').values(slice)))
  }

  async keepEarliest(tokenId: number, count: number): Promise<void> {
    await this.executor.first(lockVersion, { tokenId })
    await this.executor.run(removeAfter, { tokenId, count })
  }

  async clear(tokenId: number): Promise<number> {
    await this.executor.first(lockVersion, { tokenId })
    return this.executor.run(removeAfter, { tokenId, count: 0 })
  }

  async touch(uses: readonly Use[]): Promise<void> {
    await inSlices(uses, (slice) => {
      const rows = slice.map(({ tokenId, address, atMs }) => ({ usedToken: tokenId, usedAddress: address, atMs }))
      return this.executor.run(touch, USES.params(this.executor, rows))
    })
  }
}
