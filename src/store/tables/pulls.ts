import { CLUSTER } from '../../core/clusters.ts'
import type { PullState } from '../../core/pulls/types.ts'
import { dbFlag } from '../columns.ts'
import { inserted, statement } from '../executor.ts'
import type { PullOnDemand, EnabledPull, NewPull, StoredPull } from '../pulls.ts'
import { fieldsOf, type FieldsOf, rowOf } from '../records.ts'
import { saidColumn, saidFrom } from '../said.ts'
import { NumberedTable, NumberedVerbs } from './resource.ts'

/** What users set of a pull. */
const SETTINGS = [
  'token_id',
  'stream_name',
  'label',
  'url_sealed',
  'shown_url',
  'enabled',
  'run_when',
  'version',
] as const

const pulls = new NumberedTable('pulls', fieldsOf('pulls'), fromRow)

const STATE = ['status', 'since_ms', 'retry_at_ms', 'problem'] as const
type StateFields = FieldsOf<'pulls', (typeof STATE)[number]>

const DEMAND = ['id', 'account_id', 'stream_name', 'demand_at_ms', 'node', ...STATE] as const

/** Each node asks for them every second, so it reads what all need, and the rest of its own. */
const onDemand = statement((db, _none: object) =>
  db
    .selectFrom('pulls')
    .select(fieldsOf('pulls', DEMAND))
    .where('enabled', '=', 1)
    .where('run_when', '=', 'onDemand')
    .orderBy('id'),
)

const concerning = statement((db, p: { node: string; sinceMs: number }) =>
  db
    .selectFrom('pulls')
    .select(fieldsOf('pulls'))
    .select((eb) =>
      eb
        .selectFrom('tokens')
        .leftJoin('accounts', 'accounts.id', 'tokens.account_id')
        .select(({ fn }) => fn.coalesce('tokens.origin_cluster', 'accounts.default_cluster').as('cluster'))
        .whereRef('tokens.id', '=', 'pulls.token_id')
        .as('cluster'),
    )
    .where('enabled', '=', 1)
    .where((eb) =>
      eb.or([
        eb('node', '=', p.node),
        eb('node', 'not in', eb.selectFrom('serving_nodes').select('serving_nodes.id')),
        eb.and([eb('node', 'is', null), eb.or([eb('run_when', '=', 'always'), eb('demand_at_ms', '>', p.sinceMs)])]),
      ]),
    )
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

const setState = statement((db, p: StateFields & { id: number; node: string; problemAtMs: number | null }) =>
  db
    .updateTable('pulls')
    .set((eb) => ({
      ...rowOf('pulls', STATE, p),
      last_problem: eb.fn.coalesce(eb.val(p.problem), eb.ref('last_problem')),
      last_problem_at_ms: eb.fn.coalesce(eb.val(p.problemAtMs), eb.ref('last_problem_at_ms')),
    }))
    .where('id', '=', p.id)
    .where('node', '=', p.node),
)

const release = statement((db, p: { id: number; node: string }) =>
  db.updateTable('pulls').set({ node: null }).where('id', '=', p.id).where('node', '=', p.node),
)

export class PullReadVerbs extends NumberedVerbs<StoredPull> {
  protected override readonly table = pulls

  async onDemand(): Promise<PullOnDemand[]> {
    const rows = await this.executor.all(onDemand, {})
    return rows.map(({ status, sinceMs, retryAtMs, problem, ...pull }) => {
      return { ...pull, when: 'onDemand', state: stateOf({ status, sinceMs, retryAtMs, problem }) }
    })
  }

  async concerning(node: string, sinceMs: number): Promise<EnabledPull[]> {
    const rows = await this.executor.all(concerning, { node, sinceMs })
    return rows.map(({ cluster, ...row }) => ({ ...fromRow(row), region: cluster === CLUSTER ? null : cluster }))
  }
}

export class PullTxVerbs extends PullReadVerbs {
  async insert(pull: NewPull): Promise<StoredPull> {
    const columns = ['account_id', 'added_at_ms', 'demand_at_ms', 'node', ...SETTINGS, ...STATE] as const
    const rows = await this.executor.ask((db) =>
      db
        .insertInto('pulls')
        .values(rowOf('pulls', columns, toRow(pull)))
        .returning(fieldsOf('pulls')),
    )
    return fromRow(inserted(rows))
  }

  async replace(pull: StoredPull): Promise<void> {
    const row = rowOf('pulls', SETTINGS, toRow(pull))
    await this.executor.change((db) => db.updateTable('pulls').set(row).where('id', '=', pull.id))
  }

  async claim(id: number, node: string): Promise<void> {
    await this.executor.run(claim, { id, node })
  }

  async want(id: number, atMs: number): Promise<void> {
    await this.executor.run(want, { id, atMs })
  }

  async setState(id: number, node: string, state: PullState): Promise<void> {
    const problemAtMs = state.problem && state.sinceMs
    await this.executor.run(setState, { id, node, problemAtMs, ...stateRow(state) })
  }

  async release(id: number, node: string): Promise<void> {
    await this.executor.run(release, { id, node })
  }
}

const toRow = ({ when, state, ...pull }: NewPull) => ({
  ...pull,
  ...stateRow(state),
  enabled: dbFlag(pull.enabled),
  runWhen: when,
})

const stateRow = (state: PullState) => ({ ...state, problem: state.problem && saidColumn(state.problem) })

const stateOf = (row: StateFields): PullState => ({ ...row, problem: saidFrom(row.problem) })

function fromRow(row: FieldsOf<'pulls'>): StoredPull {
  const { runWhen, status, sinceMs, retryAtMs, problem, lastProblem: last, lastProblemAtMs, ...pull } = row
  const lastProblem = saidFrom(last)
  return {
    ...pull,
    enabled: row.enabled === 1,
    when: runWhen,
    state: stateOf({ status, sinceMs, retryAtMs, problem }),
    lastProblem: lastProblem && { ...lastProblem, atMs: lastProblemAtMs ?? 0 },
  }
}
