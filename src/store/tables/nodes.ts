import { type Selectable, sql } from 'kysely'
import type { NodeTable } from '../schema.ts'
import { statement, Verbs } from '../executor.ts'
import type { ActivityQuery, NewNode, Node, NodeActivity, NodeFacts } from '../store.ts'
import { columnsOf } from '../tableColumns.ts'
import { lockRows } from './lockRows.ts'
import { databaseTime, leaseEnd } from './now.ts'
import { nodeActivity } from './nodeActivity.ts'
import { nextStart } from './meta.ts'

/** Replaces the end of the lease of a node that was given up: its sessions are being ended, and it is never renewed. */
const GIVEN_UP = sql.lit(-1)

const insert = statement((db, p: NewNode & { leaseMs: number }, engine) =>
  db.insertInto('serving_nodes').values({
    id: p.id,
    host_key: p.hostKey,
    pid: p.pid,
    seen_at_ms: databaseTime(engine),
    alive_until_ms: leaseEnd(engine, p.leaseMs),
    url: p.url,
  }),
)

export const nodeRenewal = statement((db, p: { id: string; leaseMs: number }, engine) =>
  db
    .updateTable('serving_nodes')
    .set({ seen_at_ms: databaseTime(engine), alive_until_ms: leaseEnd(engine, p.leaseMs) })
    .where('id', '=', p.id)
    .where('alive_until_ms', '<>', GIVEN_UP),
)

/** A key share lock prevents the deletion of the row, but allows renewals of its lease. */
const lockShared = statement((db, p: { id: string }, engine) => {
  const row = db.selectFrom('serving_nodes').select('id').where('id', '=', p.id).where('alive_until_ms', '<>', GIVEN_UP)
  return lockRows(engine, row, 'key share')
})

/** Skips a node that another one has locked to give it up. */
const lock = statement((db, p: { id: string }, engine) => {
  const row = db.selectFrom('serving_nodes').select(columnsOf('serving_nodes')).where('id', '=', p.id)
  return lockRows(engine, row, 'update skip locked')
})

const lockExpired = statement((db, p: { id: string }, engine) => {
  const row = db
    .selectFrom('serving_nodes')
    .select(columnsOf('serving_nodes'))
    .where('id', '=', p.id)
    .where('alive_until_ms', '<', databaseTime(engine))
  return lockRows(engine, row, 'update skip locked')
})

const giveUp = statement((db, p: { id: string }) =>
  db.updateTable('serving_nodes').set({ alive_until_ms: GIVEN_UP }).where('id', '=', p.id),
)

const remove = statement((db, p: { id: string }) => db.deleteFrom('serving_nodes').where('id', '=', p.id))

const insertKey = statement((db, p: { id: string; keyId: string }) =>
  db.insertInto('node_keys').values({ node_id: p.id, key_id: p.keyId }),
)

const removeKey = statement((db, p: { id: string }) => db.deleteFrom('node_keys').where('node_id', '=', p.id))

const keys = statement((db, _none: object) => db.selectFrom('node_keys').select(columnsOf('node_keys')))

const putFacts = statement((db, p: NodeFacts & { id: string }) =>
  db
    .insertInto('node_facts')
    .values({ node_id: p.id, version: p.version, cores: p.cores, cpu_percent: p.cpuPercent })
    .onConflict((c) => c.column('node_id').doUpdateSet({ cpu_percent: (eb) => eb.ref('excluded.cpu_percent') })),
)

/** A node of the version before, which gives another one up, leaves its facts. */
const removeFacts = statement((db, _none: object) =>
  db.deleteFrom('node_facts').where('node_id', 'not in', (eb) => eb.selectFrom('serving_nodes').select('id')),
)

const facts = statement((db, _none: object) => db.selectFrom('node_facts').select(columnsOf('node_facts')))

const list = statement((db, _none: object, engine) =>
  db
    .selectFrom('serving_nodes')
    .select(columnsOf('serving_nodes'))
    .select(sql<number>`case when alive_until_ms < ${databaseTime(engine)} then 1 else 0 end`.as('expired'))
    .orderBy('id'),
)

/** The reads of nodes. */
export class NodeReadVerbs extends Verbs {
  async list(): Promise<Node[]> {
    return (await this.executor.all(list, {})).map(fromRow)
  }

  async keys(): Promise<ReadonlyMap<string, string>> {
    return new Map((await this.executor.all(keys, {})).map((row) => [row.node_id, row.key_id]))
  }

  async facts(): Promise<ReadonlyMap<string, NodeFacts>> {
    const rows = await this.executor.all(facts, {})
    return new Map(rows.map(({ node_id, cpu_percent, ...rest }) => [node_id, { ...rest, cpuPercent: cpu_percent }]))
  }

  activity(query: ActivityQuery): Promise<NodeActivity[]> {
    return nodeActivity(this.executor, query)
  }
}

/** The verbs of nodes in a transaction. */
export class NodeTxVerbs extends NodeReadVerbs {
  async insert(node: NewNode, leaseMs: number): Promise<void> {
    await this.executor.run(insert, { ...node, leaseMs })
  }

  nextStart(least: number, step: number): Promise<number> {
    return nextStart(this.executor, least, step)
  }

  async setKey(id: string, keyId: string): Promise<void> {
    await this.executor.run(insertKey, { id, keyId })
  }

  async setFacts(id: string, about: NodeFacts): Promise<void> {
    await this.executor.run(putFacts, { id, ...about })
  }

  async renew(id: string, leaseMs: number): Promise<boolean> {
    return (await this.executor.run(nodeRenewal, { id, leaseMs })) === 1
  }

  async lockShared(id: string): Promise<boolean> {
    return (await this.executor.first(lockShared, { id })) !== undefined
  }

  async giveUp(id: string, isKnownDead: boolean): Promise<number | undefined> {
    const row = await this.executor.first(isKnownDead ? lock : lockExpired, { id })
    if (!row) return undefined
    await this.executor.run(giveUp, { id })
    return row.seen_at_ms
  }

  async delete(id: string): Promise<void> {
    await this.executor.run(removeKey, { id })
    await this.executor.run(remove, { id })
    await this.executor.run(removeFacts, {})
  }
}

const fromRow = (row: Selectable<NodeTable> & { expired: number }): Node => ({
  id: row.id,
  hostKey: row.host_key,
  pid: row.pid,
  seenAtMs: row.seen_at_ms,
  isExpired: row.expired === 1,
  url: row.url,
})
