import type { ExpressionBuilder } from 'kysely'
import type { DB } from '../schema.ts'

/** The last use of a token, as a column of a query of `tokens`. */
export const lastUse = (eb: ExpressionBuilder<DB, 'tokens'>) =>
  eb
    .selectFrom('token_uses')
    .select('token_uses.last_used_at_ms')
    .whereRef('token_uses.token_id', '=', 'tokens.id')
    .as('lastUsedAtMs')
