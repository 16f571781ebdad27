import { sql } from 'kysely'
import { KEY_ID_PLACE } from '../../base/sealer.ts'
import { SEALED_COLUMNS, type SealedKind } from '../../core/sealed.ts'
import type { Executor } from '../executor.ts'
import type { SealedTx, SealedValue } from '../store.ts'

/** Each kind is in a table of its own, so the queries are written with the names of `SEALED_COLUMNS`. */
export async function lockOtherSealed(
  executor: Executor,
  kind: SealedKind,
  { keyId, after, limit }: Parameters<SealedTx['lockOthers']>[1],
): Promise<SealedValue[]> {
  const { table, column } = SEALED_COLUMNS[kind]
  const value = sql.ref(column)
  const keyOf = sql`substr(${value}, ${sql.lit(KEY_ID_PLACE.at + 1)}, ${sql.lit(KEY_ID_PLACE.bytes)})`
  const beyond = after === null ? sql`` : sql`and id > ${after}`
  // SQLite has no row locks and needs none.
  const lock = executor.engine.name === 'postgres' ? sql`for update` : sql``
  const query = sql<SealedValue>`select id, ${value} as sealed from ${sql.table(table)}
    where ${keyOf} <> ${Buffer.from(keyId, 'hex')} ${beyond} order by id limit ${limit} ${lock}`
  const { rows } = await executor.execute(query.compile(executor.engine.db))
  return rows as SealedValue[]
}

export async function replaceSealed(executor: Executor, kind: SealedKind, { id, sealed }: SealedValue): Promise<void> {
  const { table, column } = SEALED_COLUMNS[kind]
  const query = sql`update ${sql.table(table)} set ${sql.ref(column)} = ${sealed} where id = ${id}`
  await executor.execute(query.compile(executor.engine.db))
}
