import { sql } from 'kysely'
import { RENEWAL_PAUSE_MAX_MS } from '../../core/certificates/renewal.ts'
import type { AcmeRenewal } from '../acme.ts'
import { statement, Verbs } from '../executor.ts'
import { saidColumn, saidFrom } from '../said.ts'
import { isLeaseOver, leaseEnd } from './now.ts'

const value = statement((db, p: { id: string }) =>
  db.selectFrom('acme_values').select('value_sealed').where('id', '=', p.id),
)

const renewal = statement((db, p: { id: string }) =>
  db.selectFrom('acme_renewals').select(['failures', 'problem', 'due_at_ms as dueAtMs']).where('id', '=', p.id),
)

const put = statement((db, p: { id: string; sealed: Uint8Array; nowMs: number }) =>
  db
    .insertInto('acme_values')
    .values({ id: p.id, value_sealed: p.sealed, changed_at_ms: p.nowMs })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet((eb) => ({
        value_sealed: eb.ref('excluded.value_sealed'),
        changed_at_ms: eb.ref('excluded.changed_at_ms'),
      })),
    ),
)

const prune = statement((db, p: { from: string; until: string; beforeMs: number }) =>
  db
    .deleteFrom('acme_values')
    .where('id', '>=', p.from)
    .where('id', '<', p.until)
    .where('changed_at_ms', '<', p.beforeMs),
)

const claim = statement((db, p: { id: string; leaseMs: number; nowMs: number }, dialect) =>
  db
    .insertInto('acme_renewals')
    .values({ id: p.id, leased_until_ms: leaseEnd(dialect, p.leaseMs), due_at_ms: 0, failures: 0 })
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet((eb) => ({ leased_until_ms: eb.ref('excluded.leased_until_ms') }))
        // The rule is `isRenewalDue`.
        .where(
          sql<boolean>`acme_renewals.due_at_ms - cast(${p.nowMs} as bigint) not between 1 and ${sql.lit(RENEWAL_PAUSE_MAX_MS)}`,
        )
        .where(isLeaseOver(dialect, 'acme_renewals.leased_until_ms')),
    ),
)

const end = statement((db, p: { id: string; failures: number; dueAtMs: number; problem: string | null }) =>
  db
    .updateTable('acme_renewals')
    .set({ leased_until_ms: null, failures: p.failures, due_at_ms: p.dueAtMs, problem: p.problem })
    .where('id', '=', p.id),
)

export class AcmeReadVerbs extends Verbs {
  async value(id: string): Promise<Uint8Array | undefined> {
    return (await this.executor.first(value, { id }))?.value_sealed
  }

  async renewal(id: string): Promise<AcmeRenewal | undefined> {
    const row = await this.executor.first(renewal, { id })
    return row && { ...row, problem: saidFrom(row.problem) }
  }
}

export class AcmeTxVerbs extends Verbs {
  async put(id: string, sealed: Uint8Array, nowMs: number): Promise<void> {
    await this.executor.run(put, { id, sealed, nowMs })
  }

  async prune(prefix: string, beforeMs: number): Promise<void> {
    // `~` comes after every character of an id.
    await this.executor.run(prune, { from: prefix, until: `${prefix}~`, beforeMs })
  }

  async claim(id: string, leaseMs: number, nowMs: number): Promise<boolean> {
    return (await this.executor.run(claim, { id, leaseMs, nowMs })) > 0
  }

  async settle(id: string, dueAtMs: number): Promise<void> {
    await this.executor.run(end, { id, dueAtMs, failures: 0, problem: null })
  }

  async fail(id: string, { problem, ...failure }: AcmeRenewal): Promise<void> {
    await this.executor.run(end, { id, ...failure, problem: problem && saidColumn(problem) })
  }
}
