import { sql } from 'kysely'
import { KEY_ID_POSITION } from '../../base/sealer.ts'
import { SEALED_COLUMNS, type SealedKind } from '../../core/sealed.ts'
import { Verbs } from '../executor.ts'
import type { SealedValue, Tx } from '../store.ts'

export class SealedTxVerbs extends Verbs {
  /** Each kind is in a table of its own, so the queries are written with the names of `SEALED_COLUMNS`. */
  lockOthers(
    kind: SealedKind,
    { keyId, after, limit }: Parameters<Tx['sealed']['lockOthers']>[1],
  ): Promise<SealedValue[]> {
    const { table, column } = SEALED_COLUMNS[kind]
    const value = sql.ref(column)
    const keyOf = sql`substr(${value}, ${sql.lit(KEY_ID_POSITION.at + 1)}, ${sql.lit(KEY_ID_POSITION.bytes)})`
    const beyond = after === null ? sql`` : sql`and id > ${after}`
    // SQLite has no row locks and needs none.
    const lock = this.executor.dialect.name === 'postgres' ? sql`for update` : sql``
    return this.executor.ask(
      () => sql<SealedValue>`select id, ${value} as sealed from ${sql.table(table)}
        where ${keyOf} <> ${Buffer.from(keyId, 'hex')} ${beyond} order by id limit ${limit} ${lock}`,
    )
  }

  async replace(kind: SealedKind, { id, sealed }: SealedValue): Promise<void> {
    const { table, column } = SEALED_COLUMNS[kind]
    await this.executor.change(
      () => sql`update ${sql.table(table)} set ${sql.ref(column)} = ${sealed} where id = ${id}`,
    )
  }
}
