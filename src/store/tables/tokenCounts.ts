import { sql } from 'kysely'
import type { Token } from '../../core/tokens/types.ts'
import { type Executor, statement } from '../executor.ts'

/** Concurrent creates of one account wait for each other only when their ids fall into the same slot. */
const SLOTS = 16

const add = statement((db, p: { accountId: string; kind: string; slot: number; n: number }) =>
  db
    .insertInto('token_counts')
    .values({ account_id: p.accountId, kind: p.kind, slot: p.slot, n: p.n })
    .onConflict((c) => c.columns(['account_id', 'kind', 'slot']).doUpdateSet({ n: sql`token_counts.n + excluded.n` })),
)

const total = statement((db, p: { accountId: string; kind: string }) =>
  db
    .selectFrom('token_counts')
    .select(sql<number>`cast(coalesce(sum(n), 0) as bigint)`.as('n'))
    .where('account_id', '=', p.accountId)
    .where('kind', '=', p.kind),
)

/** Changes the count in the transaction of the change, so that it is exact. */
export async function addToCount(
  executor: Executor,
  token: Pick<Token, 'id' | 'accountId' | 'kind'>,
  n: 1 | -1,
): Promise<void> {
  await executor.run(add, { accountId: token.accountId, kind: token.kind, slot: token.id % SLOTS, n })
}

/** How many tokens of a kind an account has, in constant time. */
export async function countAll(executor: Executor, accountId: string, kind: string): Promise<number> {
  return (await executor.first(total, { accountId, kind }))?.n ?? 0
}
