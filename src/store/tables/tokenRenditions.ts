import type { ExpressionBuilder } from 'kysely'
import type { FeedRendition } from '../../core/hls/feedRungs.ts'
import { type Executor, statement } from '../executor.ts'
import type { DB } from '../schema.ts'

/** The renditions of a token as JSON, as a column of a query of `tokens`; null: it has none. */
export const renditionsOf = (eb: ExpressionBuilder<DB, 'tokens'>) =>
  eb
    .selectFrom('token_renditions')
    .select('token_renditions.renditions')
    .whereRef('token_renditions.token_id', '=', 'tokens.id')
    .as('renditions')

const insert = statement((db, p: { id: number; renditions: string }) =>
  db.insertInto('token_renditions').values({ token_id: p.id, renditions: p.renditions }),
)

const remove = statement((db, p: { id: number }) => db.deleteFrom('token_renditions').where('token_id', '=', p.id))

/** Saves the renditions of a token whose row is new or locked. */
export async function saveRenditions(
  executor: Executor,
  { id, hlsRenditions }: { readonly id: number; readonly hlsRenditions: readonly FeedRendition[] },
): Promise<void> {
  if (hlsRenditions.length > 0) await executor.run(insert, { id, renditions: JSON.stringify(hlsRenditions) })
}

/** The same for a token that may have had others. */
export async function replaceRenditions(
  executor: Executor,
  token: Parameters<typeof saveRenditions>[1],
): Promise<void> {
  await executor.run(remove, { id: token.id })
  await saveRenditions(executor, token)
}
