import { type ActorIdentity, formatActor, parseActor } from '../../core/actor.ts'
import { statement, Verbs } from '../executor.ts'
import { fieldsOf, type FieldsOf, insertion } from '../records.ts'
import { namesWithout } from '../schema.ts'
import type { AuditQuery, AuditRow, StoredAuditRow } from '../store.ts'
import { matching, newestFirst, within } from './keyset.ts'
import { pruning } from './pruning.ts'

const insert = insertion('audit', namesWithout('audit', 'id'))

const prune = pruning('audit', 'at_ms', ['id'])

const recent = statement((db, p: { accountId: string; limit: number }) =>
  db
    .selectFrom('audit')
    .select(fieldsOf('audit'))
    .where('account_id', '=', p.accountId)
    .orderBy('id', 'desc')
    .limit(p.limit),
)

const newestActions = statement((db, p: { accountId: string; limit: number }) =>
  db
    .selectFrom('audit')
    .select(['id', 'action'])
    .where('account_id', '=', p.accountId)
    .orderBy('id', 'desc')
    .limit(p.limit),
)

export class AuditReadVerbs extends Verbs {
  async recent(accountId: string, limit: number): Promise<StoredAuditRow[]> {
    return (await this.executor.all(recent, { accountId, limit })).map(fromRow)
  }

  actions(accountId: string, limit: number): Promise<{ id: number; action: string }[]> {
    return this.executor.all(newestActions, { accountId, limit })
  }

  async page(query: AuditQuery): Promise<StoredAuditRow[]> {
    const { accountId, actor, action } = query
    const rows = await this.executor.ask((db) => {
      const all = db.selectFrom('audit').select(fieldsOf('audit'))
      const found = within(matching(all, { account_id: accountId, actor, action }), 'at_ms', query)
      return newestFirst(found, ['at_ms', 'id'], query)
    })
    return rows.map(fromRow)
  }
}

export class AuditTxVerbs extends AuditReadVerbs {
  append(...rows: AuditRow[]): Promise<void> {
    return insert(this.executor, rows.map(toRow))
  }

  async prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}

const toRow = (row: AuditRow) => ({ ...row, actor: formatActor(row.actor) })

const fromRow = (row: FieldsOf<'audit'>): StoredAuditRow => ({ ...row, actor: identityOf(row.actor) })

function identityOf(text: string): ActorIdentity {
  const identity = parseActor(text)
  if (identity === null) throw new Error(`an audit row has an actor of no known kind: ${text}`)
  return identity
}
