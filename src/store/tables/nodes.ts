import { type Kysely, sql } from 'kysely'
import { FULL_REASONS, type MediaProcessEnd } from '../../core/nodes/load.ts'
import { parseNodeLinks } from '../../core/nodes/nodeLinks.ts'
import { dbFlag } from '../columns.ts'
import { type DialectName, statement, Verbs } from '../executor.ts'
import { fieldsOf, type FieldsOf, rowOf } from '../records.ts'
import type { DB } from '../schema.ts'
import type {
  ActivityQuery,
  NewNode,
  Node,
  NodeActivity,
  NodeFacts,
  NodeLoadFacts,
  OpenAtNode,
  ReportedFacts,
} from '../store.ts'
import { lockRows } from './lockRows.ts'
import { databaseTime, isLeaseOver, leaseEnd } from './now.ts'
import { nodeActivity, openAtNodes } from './nodeActivity.ts'
import { nextStart } from './meta.ts'

/** Replaces the end of the lease of a node that was given up: its sessions are being ended, and it is never renewed. */
const GIVEN_UP = sql.lit(-1)

const insert = statement((db, p: NewNode & { leaseMs: number }, dialect) =>
  db.insertInto('serving_nodes').values({
    id: p.id,
    host_key: p.hostKey,
    pid: p.pid,
    seen_at_ms: databaseTime(dialect),
    alive_until_ms: leaseEnd(dialect, p.leaseMs),
    url: p.url,
  }),
)

export const nodeRenewal = statement((db, p: { id: string; leaseMs: number }, dialect) =>
  db
    .updateTable('serving_nodes')
    .set({ seen_at_ms: databaseTime(dialect), alive_until_ms: leaseEnd(dialect, p.leaseMs) })
    .where('id', '=', p.id)
    .where('alive_until_ms', '<>', GIVEN_UP),
)

/** A key share lock prevents the deletion of the row, but allows renewals of its lease. */
const lockShared = statement((db, p: { id: string }, dialect) => {
  const row = db.selectFrom('serving_nodes').select('id').where('id', '=', p.id).where('alive_until_ms', '<>', GIVEN_UP)
  return lockRows(dialect, row, 'key share')
})

const lastRenewal = (db: Kysely<DB>, p: { id: string }) =>
  db.selectFrom('serving_nodes').select('seen_at_ms').where('id', '=', p.id)

/** Skips a node that another one has locked to give it up. */
const lock = statement((db, p: { id: string }, dialect) => lockRows(dialect, lastRenewal(db, p), 'update skip locked'))

const lockExpired = statement((db, p: { id: string }, dialect) => {
  const row = lastRenewal(db, p).where(isLeaseOver(dialect, 'alive_until_ms'))
  return lockRows(dialect, row, 'update skip locked')
})

const giveUp = statement((db, p: { id: string }) =>
  db.updateTable('serving_nodes').set({ alive_until_ms: GIVEN_UP }).where('id', '=', p.id),
)

const remove = statement((db, p: { id: string }) => db.deleteFrom('serving_nodes').where('id', '=', p.id))

const drain = statement((db, p: { id: string }, dialect) =>
  db
    .updateTable('serving_nodes')
    .set({ draining_since_ms: sql<number>`coalesce(draining_since_ms, ${databaseTime(dialect)})` })
    .where('id', '=', p.id)
    .where('alive_until_ms', '<>', GIVEN_UP),
)

const setKey = statement((db, p: { id: string; keyId: string }) =>
  db.updateTable('serving_nodes').set({ key_id: p.keyId }).where('id', '=', p.id),
)

/** What a node says of itself at its start, and of its load. */
const FIXED = ['node_id', 'version', 'cores', 'region', 'rtmp_port', 'rtmps_port'] as const
const LOAD = [
  'cpu_percent',
  'media_percent',
  'egress_bitrate',
  'full_reasons',
  'links',
  'media_ended_at_ms',
  'media_ended_hung',
  'media_ended_sessions',
] as const
type Load = FieldsOf<'node_facts', (typeof LOAD)[number]>

const loadOf = ({ full, links, mediaProcessEnd: end, ...load }: NodeLoadFacts): Load => ({
  ...load,
  fullReasons: full.join(','),
  links: links && JSON.stringify(links),
  mediaEndedAtMs: end && end.atMs,
  mediaEndedHung: end && dbFlag(end.isHung),
  mediaEndedSessions: end && end.sessions,
})

const insertFacts = statement((db, p: Load & FieldsOf<'node_facts', (typeof FIXED)[number]>, dialect) =>
  db
    .insertInto('node_facts')
    .values({ ...rowOf('node_facts', [...FIXED, ...LOAD], p), reported_at_ms: databaseTime(dialect) }),
)

const setLoad = statement((db, p: Load & { id: string }, dialect) =>
  db
    .updateTable('node_facts')
    .set({ ...rowOf('node_facts', LOAD, p), reported_at_ms: databaseTime(dialect) })
    .where('node_id', '=', p.id),
)

const facts = statement((db, _none: object, dialect) =>
  db
    .selectFrom('node_facts')
    .select(fieldsOf('node_facts'))
    .select(sql<number>`${databaseTime(dialect)} - coalesce(reported_at_ms, 0)`.as('ageMs')),
)

const NODE = ['id', 'host_key', 'pid', 'seen_at_ms', 'url', 'draining_since_ms', 'key_id'] as const
type Listed = FieldsOf<'serving_nodes', (typeof NODE)[number]> & { readonly expired: number }

const listed = (db: Kysely<DB>, dialect: DialectName) =>
  db
    .selectFrom('serving_nodes')
    .select(fieldsOf('serving_nodes', NODE))
    .select(sql<number>`case when ${isLeaseOver(dialect, 'alive_until_ms')} then 1 else 0 end`.as('expired'))
    .orderBy('id')

const list = statement((db, _none: object, dialect) => listed(db, dialect))

const doubtful = statement((db, p: { hostKey: string }, dialect) =>
  listed(db, dialect).where((eb) => eb.or([isLeaseOver(dialect, 'alive_until_ms'), eb('host_key', '=', p.hostKey)])),
)

const aliveBefore = statement((db, p: { id: string }, dialect) =>
  db
    .selectFrom('serving_nodes')
    .select('id')
    .where('id', '<', p.id)
    .where((eb) => eb.not(isLeaseOver(dialect, 'alive_until_ms')))
    .limit(sql.lit(1)),
)

export class NodeReadVerbs extends Verbs {
  async list(): Promise<Node[]> {
    return (await this.executor.all(list, {})).map(fromRow)
  }

  async doubtful(hostKey: string): Promise<Node[]> {
    return (await this.executor.all(doubtful, { hostKey })).map(fromRow)
  }

  async isFirst(id: string): Promise<boolean> {
    return (await this.executor.first(aliveBefore, { id })) === undefined
  }

  async keys(): Promise<ReadonlyMap<string, string>> {
    const rows = await this.executor.all(list, {})
    return new Map(rows.flatMap(({ id, keyId }) => (keyId === null ? [] : [[id, keyId]])))
  }

  async facts(): Promise<ReadonlyMap<string, ReportedFacts>> {
    const rows = await this.executor.all(facts, {})
    return new Map(rows.map((row) => [row.nodeId, factsFrom(row)]))
  }

  activity(query: ActivityQuery): Promise<NodeActivity[]> {
    return nodeActivity(this.executor, query)
  }

  open(): Promise<OpenAtNode[]> {
    return openAtNodes(this.executor)
  }
}

export class NodeTxVerbs extends NodeReadVerbs {
  async insert(node: NewNode, leaseMs: number): Promise<void> {
    await this.executor.run(insert, { ...node, leaseMs })
  }

  nextStart(least: number, step: number): Promise<number> {
    return nextStart(this.executor, least, step)
  }

  async setKey(id: string, keyId: string): Promise<void> {
    await this.executor.run(setKey, { id, keyId })
  }

  async insertFacts(id: string, about: NodeFacts): Promise<void> {
    await this.executor.run(insertFacts, { ...about, ...loadOf(about), nodeId: id, region: about.region || null })
  }

  async setLoad(id: string, load: NodeLoadFacts): Promise<void> {
    await this.executor.run(setLoad, { id, ...loadOf(load) })
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

  async drain(id: string): Promise<boolean> {
    return (await this.executor.run(drain, { id })) === 1
  }

  async delete(id: string): Promise<void> {
    await this.executor.run(remove, { id })
  }
}

const factsFrom = (row: FieldsOf<'node_facts'> & { readonly ageMs: number }): ReportedFacts => ({
  version: row.version,
  cores: row.cores,
  region: row.region ?? '',
  ageMs: Math.max(0, row.ageMs),
  cpuPercent: row.cpuPercent,
  mediaPercent: row.mediaPercent,
  egressBitrate: row.egressBitrate,
  // A later version may have more reasons.
  full: FULL_REASONS.filter((reason) => row.fullReasons?.split(',').includes(reason)),
  rtmpPort: row.rtmpPort,
  rtmpsPort: row.rtmpsPort,
  links: row.links === null ? null : parseNodeLinks(row.links),
  mediaProcessEnd: mediaEndFrom(row),
})

function mediaEndFrom(row: FieldsOf<'node_facts'>): MediaProcessEnd | null {
  const atMs = row.mediaEndedAtMs
  return atMs === null ? null : { atMs, isHung: row.mediaEndedHung === 1, sessions: row.mediaEndedSessions ?? 0 }
}

const fromRow = ({ expired, keyId: _keyId, ...row }: Listed): Node => ({ ...row, isExpired: expired === 1 })
