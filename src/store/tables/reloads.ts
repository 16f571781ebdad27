import { dbFlag } from '../columns.ts'
import { statement, Verbs } from '../executor.ts'
import { fieldsOf, insertion } from '../records.ts'
import { namesOf } from '../schema.ts'
import type { NodeRequest } from '../store.ts'

const insert = insertion('reload_requests', namesOf('reload_requests'))

const waiting = statement((db, p: { nodeId: string; limit: number }) =>
  db
    .selectFrom('reload_requests')
    .select(fieldsOf('reload_requests', ['id', 'node_id', 'is_check']))
    .where('node_id', '=', p.nodeId)
    .where('answer', 'is', null)
    .where('report', 'is', null)
    .orderBy('id')
    .limit(p.limit),
)

/** A newer version may ask for others; each is answered. */
const REPORTS_AT_ONCE = 20

const reports = statement((db, p: { nodeId: string; limit: number }) =>
  db
    .selectFrom('reload_requests')
    .select('report')
    .distinct()
    .where('node_id', '=', p.nodeId)
    .where('answer', 'is', null)
    .where('report', 'is not', null)
    .limit(p.limit),
)

const answerReports = statement((db, p: { nodeId: string; report: string; answer: string }) =>
  db
    .updateTable('reload_requests')
    .set({ answer: p.answer })
    .where('node_id', '=', p.nodeId)
    .where('report', '=', p.report)
    .where('answer', 'is', null),
)

const setAnswer = statement((db, p: { id: string; answer: string }) =>
  db.updateTable('reload_requests').set({ answer: p.answer }).where('id', '=', p.id),
)

const answerOf = statement((db, p: { id: string }) =>
  db.selectFrom('reload_requests').select('answer').where('id', '=', p.id),
)

const remove = statement((db, p: { id: string }) => db.deleteFrom('reload_requests').where('id', '=', p.id))

const prune = statement((db, p: { beforeMs: number }) =>
  db.deleteFrom('reload_requests').where('asked_at_ms', '<', p.beforeMs),
)

export class ReloadReadVerbs extends Verbs {
  async waiting(nodeId: string, limit: number): Promise<NodeRequest[]> {
    const rows = await this.executor.all(waiting, { nodeId, limit })
    return rows.map((row) => ({ ...row, isCheck: row.isCheck === 1, report: null }))
  }

  async reports(nodeId: string): Promise<string[]> {
    const rows = await this.executor.all(reports, { nodeId, limit: REPORTS_AT_ONCE })
    return rows.flatMap(({ report }) => report ?? [])
  }

  async answer(id: string): Promise<string | null> {
    return (await this.executor.first(answerOf, { id }))?.answer ?? null
  }
}

export class ReloadTxVerbs extends Verbs {
  async insert(request: NodeRequest, askedAtMs: number): Promise<void> {
    await insert(this.executor, [{ ...request, isCheck: dbFlag(request.isCheck), askedAtMs, answer: null }])
  }

  async answer(id: string, answer: string): Promise<void> {
    await this.executor.run(setAnswer, { id, answer })
  }

  async answerReports(of: { nodeId: string; report: string; answer: string }): Promise<void> {
    await this.executor.run(answerReports, of)
  }

  async delete(id: string): Promise<void> {
    await this.executor.run(remove, { id })
  }

  async prune(beforeMs: number): Promise<number> {
    return this.executor.run(prune, { beforeMs })
  }
}
