import { sql } from 'kysely'
import type { EncoderClaim } from '../../core/channels/runs/claims.ts'
import { inSlices, statement, Verbs } from '../executor.ts'
import type { ClaimTimes, NewClaim } from '../runs.ts'
import { databaseTime, leaseEnd } from './now.ts'

/** The rule is that of `judgeEncoder`; here it holds also while several nodes claim. */
const claim = statement((db, p: NewClaim & ClaimTimes, engine) =>
  db
    .insertInto('encoders')
    .values({
      ingest_id: p.ingestId,
      node: p.node,
      connected_at_ms: p.connectedAtMs,
      // It came from no other node.
      since_ms: 0,
      alive_until_ms: leaseEnd(engine, p.claimMs),
    })
    .onConflict((conflict) =>
      conflict
        .column('ingest_id')
        .doUpdateSet((eb) => ({
          node: eb.ref('excluded.node'),
          connected_at_ms: eb.ref('excluded.connected_at_ms'),
          since_ms: sql<number>`case when encoders.node = excluded.node then encoders.since_ms else ${databaseTime(engine)} end`,
          alive_until_ms: eb.ref('excluded.alive_until_ms'),
        }))
        .where(
          sql<boolean>`(encoders.node = excluded.node or (
            ${databaseTime(engine)} - encoders.since_ms not between 0 and cast(${p.pauseMs} as bigint) - 1 and (
              encoders.connected_at_ms < excluded.connected_at_ms or
              encoders.alive_until_ms - ${databaseTime(engine)} not between 1 and cast(${p.claimMs} as bigint))))`,
        ),
    ),
)

const release = statement((db, p: { node: string }) =>
  db.updateTable('encoders').set({ alive_until_ms: 0 }).where('node', '=', p.node),
)

const prune = statement((db, p: { beforeMs: number }) =>
  db.deleteFrom('encoders').where('alive_until_ms', '<', p.beforeMs).where('since_ms', '<', p.beforeMs),
)

/** The reads of encoders. */
export class EncoderReadVerbs extends Verbs {
  async of(ingestIds: readonly string[]): Promise<ReadonlyMap<string, EncoderClaim>> {
    const found = new Map<string, EncoderClaim>()
    await inSlices(ingestIds, async (slice) => {
      const rows = await this.executor.ask((db, engine) =>
        db
          .selectFrom('encoders')
          .select(['ingest_id', 'node', 'connected_at_ms as connectedAtMs'])
          .select(sql<number>`${databaseTime(engine)} - since_ms`.as('heldMs'))
          .select(sql<number>`alive_until_ms - ${databaseTime(engine)}`.as('remainingMs'))
          .where('ingest_id', 'in', slice),
      )
      for (const { ingest_id: id, ...of } of rows) found.set(id, of)
    })
    return found
  }
}

/** The verbs of encoders in a transaction. */
export class EncoderTxVerbs extends EncoderReadVerbs {
  async claim(of: NewClaim, times: ClaimTimes): Promise<boolean> {
    return (await this.executor.run(claim, { ...of, ...times })) > 0
  }

  async release(node: string): Promise<void> {
    await this.executor.run(release, { node })
  }

  async prune(beforeMs: number): Promise<void> {
    await this.executor.run(prune, { beforeMs })
  }
}
