import { type Session, statement } from '../session.ts'
import type { AuditRow } from '../store.ts'

const append = statement((db, p: AuditRow) =>
  db.insertInto('audit').values({
    account_id: p.accountId,
    at_ms: p.atMs,
    actor: p.actor,
    address: p.address,
    request_id: p.requestId,
    action: p.action,
    subject: p.subject,
    before: p.before,
    after: p.after,
  }),
)

const prune = statement((db, p: { beforeMs: number; limit: number }) =>
  db
    .deleteFrom('audit')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('audit as old')
        .select('old.id')
        .where('old.at_ms', '<', p.beforeMs)
        .orderBy('old.id')
        .limit(p.limit),
    ),
)

const recent = statement((db, p: { accountId: string; limit: number }) =>
  db.selectFrom('audit').selectAll().where('account_id', '=', p.accountId).orderBy('id', 'desc').limit(p.limit),
)

export async function appendAudit(session: Session, row: AuditRow): Promise<void> {
  await session.run(append, row)
}

export async function pruneAudit(session: Session, beforeMs: number, limit: number): Promise<number> {
  return session.run(prune, { beforeMs, limit })
}

export async function recentAudit(
  session: Session,
  accountId: string,
  limit: number,
): Promise<(AuditRow & { id: number })[]> {
  const rows = await session.all(recent, { accountId, limit })
  return rows.map((row) => ({
    id: row.id,
    accountId: row.account_id,
    atMs: row.at_ms,
    actor: row.actor,
    address: row.address,
    requestId: row.request_id,
    action: row.action,
    subject: row.subject,
    before: row.before,
    after: row.after,
  }))
}
