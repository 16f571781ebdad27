import type { Kysely } from 'kysely'
import { CLUSTER } from '../../core/clusters.ts'
import type { PullState } from '../../core/pulls/types.ts'
import { inserted, statement, Verbs } from '../executor.ts'
import type { EnabledPull, NewPull, StoredPull } from '../pulls.ts'
import { saidColumn, saidFrom } from '../said.ts'
import { columnsOf, type DB, type NewRowOf, type RowOf } from '../schema.ts'
import { lockRows } from './lockRows.ts'

const named = (db: Kysely<DB>, p: { accountId: string; id: number }) =>
  db.selectFrom('pulls').select(columnsOf('pulls')).where('id', '=', p.id).where('account_id', '=', p.accountId)

const byId = statement(named)

const lock = statement((db, p: { accountId: string; id: number }, dialect) => lockRows(dialect, named(db, p), 'update'))

const ofAccount = statement((db, p: { accountId: string }) =>
  db.selectFrom('pulls').select(columnsOf('pulls')).where('account_id', '=', p.accountId).orderBy('id'),
)

const enabled = statement((db, _none: object) =>
  db
    .selectFrom('pulls')
    .select(columnsOf('pulls'))
    .select((eb) =>
      eb
        .selectFrom('tokens')
        .leftJoin('accounts', 'accounts.id', 'tokens.account_id')
        .select(({ fn }) => fn.coalesce('tokens.origin_cluster', 'accounts.default_cluster').as('cluster'))
        .whereRef('tokens.id', '=', 'pulls.token_id')
        .as('cluster'),
    )
    .where('enabled', '=', 1)
    .orderBy('id'),
)

const claim = statement((db, p: { id: number; node: string }) =>
  db
    .updateTable('pulls')
    .set({ node: p.node })
    .where('id', '=', p.id)
    .where('enabled', '=', 1)
    .where((eb) =>
      eb.or([eb('node', 'is', null), eb('node', 'not in', eb.selectFrom('serving_nodes').select('serving_nodes.id'))]),
    ),
)

const want = statement((db, p: { id: number; atMs: number }) =>
  db
    .updateTable('pulls')
    .set({ demand_at_ms: p.atMs })
    .where('id', '=', p.id)
    .where('enabled', '=', 1)
    .where('run_when', '=', 'onDemand'),
)

const setState = statement((db, p: { id: number; node: string; problem_at_ms: number | null } & StateColumns) =>
  db
    .updateTable('pulls')
    .set((eb) => ({
      status: p.status,
      since_ms: p.since_ms,
      retry_at_ms: p.retry_at_ms,
      problem: p.problem,
      last_problem: eb.fn.coalesce(eb.val(p.problem), eb.ref('last_problem')),
      last_problem_at_ms: eb.fn.coalesce(eb.val(p.problem_at_ms), eb.ref('last_problem_at_ms')),
    }))
    .where('id', '=', p.id)
    .where('node', '=', p.node),
)

const release = statement((db, p: { id: number; node: string }) =>
  db.updateTable('pulls').set({ node: null }).where('id', '=', p.id).where('node', '=', p.node),
)

const remove = statement((db, p: { id: number }) => db.deleteFrom('pulls').where('id', '=', p.id))

export class PullReadVerbs extends Verbs {
  async get(accountId: string, id: number): Promise<StoredPull | undefined> {
    const row = await this.executor.first(byId, { accountId, id })
    return row && fromRow(row)
  }

  async list(accountId: string): Promise<StoredPull[]> {
    return (await this.executor.all(ofAccount, { accountId })).map(fromRow)
  }

  async enabled(): Promise<EnabledPull[]> {
    const rows = await this.executor.all(enabled, {})
    return rows.map((row) => ({ ...fromRow(row), region: row.cluster === CLUSTER ? null : row.cluster }))
  }
}

export class PullTxVerbs extends PullReadVerbs {
  async insert({ accountId, addedAtMs, demandAtMs, node, state, ...pull }: NewPull): Promise<StoredPull> {
    const added = { account_id: accountId, added_at_ms: addedAtMs, demand_at_ms: demandAtMs, node }
    const fixed = { ...added, ...stateColumns(state) }
    const row = inserted(
      await this.executor.ask((db) =>
        db
          .insertInto('pulls')
          .values({ ...fixed, ...settingColumns(pull) })
          .returning(columnsOf('pulls')),
      ),
    )
    return fromRow(row)
  }

  async lock(accountId: string, id: number): Promise<StoredPull | undefined> {
    const row = await this.executor.first(lock, { accountId, id })
    return row && fromRow(row)
  }

  async replace(pull: StoredPull): Promise<void> {
    await this.executor.change((db) => db.updateTable('pulls').set(settingColumns(pull)).where('id', '=', pull.id))
  }

  async delete(id: number): Promise<void> {
    await this.executor.run(remove, { id })
  }

  async claim(id: number, node: string): Promise<void> {
    await this.executor.run(claim, { id, node })
  }

  async want(id: number, atMs: number): Promise<void> {
    await this.executor.run(want, { id, atMs })
  }

  async setState(id: number, node: string, state: PullState): Promise<void> {
    const problem_at_ms = state.problem && state.sinceMs
    await this.executor.run(setState, { id, node, problem_at_ms, ...stateColumns(state) })
  }

  async release(id: number, node: string): Promise<void> {
    await this.executor.run(release, { id, node })
  }
}

type StateColumns = Pick<RowOf<'pulls'>, 'status' | 'since_ms' | 'retry_at_ms' | 'problem'>

const stateColumns = ({ status, sinceMs, retryAtMs, problem }: PullState): StateColumns => ({
  status,
  since_ms: sinceMs,
  retry_at_ms: retryAtMs,
  problem: problem && saidColumn(problem),
})

type Changeable = Omit<NewPull, 'accountId' | 'addedAtMs' | 'demandAtMs' | 'node' | 'state'>

const settingColumns = (
  pull: Changeable,
): Omit<
  NewRowOf<'pulls'>,
  'account_id' | 'added_at_ms' | 'demand_at_ms' | 'node' | 'last_problem' | 'last_problem_at_ms' | keyof StateColumns
> => ({
  token_id: pull.tokenId,
  stream_name: pull.streamName,
  label: pull.label,
  url_sealed: pull.urlSealed,
  shown_url: pull.shownUrl,
  enabled: pull.enabled ? 1 : 0,
  run_when: pull.when,
  version: pull.version,
})

const fromRow = (row: RowOf<'pulls'>): StoredPull => ({
  id: row.id,
  accountId: row.account_id,
  tokenId: row.token_id,
  streamName: row.stream_name,
  label: row.label,
  urlSealed: row.url_sealed,
  shownUrl: row.shown_url,
  enabled: row.enabled === 1,
  when: row.run_when,
  version: row.version,
  addedAtMs: row.added_at_ms,
  demandAtMs: row.demand_at_ms,
  node: row.node,
  state: {
    status: row.status,
    sinceMs: row.since_ms,
    retryAtMs: row.retry_at_ms,
    problem: saidFrom(row.problem),
  },
  lastProblem: lastProblemFrom(row),
})

function lastProblemFrom({ last_problem, last_problem_at_ms }: RowOf<'pulls'>): StoredPull['lastProblem'] {
  const said = saidFrom(last_problem)
  return said && { ...said, atMs: last_problem_at_ms ?? 0 }
}
