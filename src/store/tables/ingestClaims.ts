import { sql } from 'kysely'
import type { IngestClaim } from '../../core/channels/runs/claims.ts'
import { statement, Verbs } from '../executor.ts'
import { fieldsOf } from '../records.ts'
import type { ClaimTimes, NewClaim } from '../runs.ts'
import { databaseTime, leaseEnd } from './now.ts'

/** The rule is that of `judgeClaim`; here it holds also while several nodes claim. */
const claim = statement((db, p: NewClaim & ClaimTimes, dialect) =>
  db
    .insertInto('ingest_claims')
    .values({
      ingest_id: p.ingestId,
      node: p.node,
      connected_at_ms: p.connectedAtMs,
      // It came from no other node.
      since_ms: 0,
      alive_until_ms: leaseEnd(dialect, p.claimMs),
    })
    .onConflict((conflict) =>
      conflict
        .column('ingest_id')
        .doUpdateSet((eb) => ({
          node: eb.ref('excluded.node'),
          connected_at_ms: eb.ref('excluded.connected_at_ms'),
          since_ms: sql<number>`case when ingest_claims.node = excluded.node then ingest_claims.since_ms else ${databaseTime(dialect)} end`,
          alive_until_ms: eb.ref('excluded.alive_until_ms'),
        }))
        .where(
          sql<boolean>`(ingest_claims.node = excluded.node or (
            ${databaseTime(dialect)} - ingest_claims.since_ms not between 0 and cast(${p.pauseMs} as bigint) - 1 and (
              ingest_claims.connected_at_ms < excluded.connected_at_ms or
              ingest_claims.alive_until_ms - ${databaseTime(dialect)} not between 1 and cast(${p.claimMs} as bigint))))`,
        ),
    ),
)

const release = statement((db, p: { node: string }) =>
  db.updateTable('ingest_claims').set({ alive_until_ms: 0 }).where('node', '=', p.node),
)

const prune = statement((db, p: { beforeMs: number }) =>
  db.deleteFrom('ingest_claims').where('alive_until_ms', '<', p.beforeMs).where('since_ms', '<', p.beforeMs),
)

export class IngestClaimReadVerbs extends Verbs {
  async of(ingestIds: readonly string[]): Promise<ReadonlyMap<string, IngestClaim>> {
    const rows = await this.executor.askInSlices(ingestIds, (db, slice, dialect) =>
      db
        .selectFrom('ingest_claims')
        .select(fieldsOf('ingest_claims', ['ingest_id', 'node', 'connected_at_ms']))
        .select(sql<number>`${databaseTime(dialect)} - since_ms`.as('heldMs'))
        .select(sql<number>`alive_until_ms - ${databaseTime(dialect)}`.as('remainingMs'))
        .where('ingest_id', 'in', slice),
    )
    return new Map(rows.map(({ ingestId, ...claim }) => [ingestId, claim]))
  }
}

export class IngestClaimTxVerbs extends IngestClaimReadVerbs {
  async claim(of: NewClaim, times: ClaimTimes): Promise<boolean> {
    return (await this.executor.run(claim, { ...of, ...times })) > 0
  }

  async release(node: string): Promise<void> {
    await this.executor.run(release, { node })
  }

  async prune(beforeMs: number): Promise<number> {
    return this.executor.run(prune, { beforeMs })
  }
}
