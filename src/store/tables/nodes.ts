import { type Kysely, sql } from 'kysely'
import { FULL_REASONS, type MediaProcessEnd } from '../../core/nodes/load.ts'
import { parseNodeLinks } from '../../core/nodes/nodeLinks.ts'
import { type DbBoolean, dbFlag } from '../columns.ts'
import { type DialectName, statement, Verbs } from '../executor.ts'
import { fieldsOf, type FieldsOf } from '../records.ts'
import { columnsOf, type DB, type RowOf } from '../schema.ts'
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

/** What a node says of its load, as values of columns. */
type LoadValues = Omit<NodeLoadFacts, 'full' | 'links' | 'mediaProcessEnd'> & {
  readonly fullReasons: string
  readonly linksText: string | null
  readonly mediaEndedAtMs: number | null
  readonly isMediaHung: DbBoolean | null
  readonly mediaEndedSessions: number | null
}

const valuesOf = ({ full, links, mediaProcessEnd: end, ...load }: NodeLoadFacts): LoadValues => ({
  ...load,
  fullReasons: full.join(','),
  linksText: links && JSON.stringify(links),
  mediaEndedAtMs: end && end.atMs,
  isMediaHung: end && dbFlag(end.isHung),
  mediaEndedSessions: end && end.sessions,
})

const loadRow = (p: LoadValues) => ({
  cpu_percent: p.cpuPercent,
  media_percent: p.mediaPercent,
  egress_bitrate: p.egressBitrate,
  full_reasons: p.fullReasons,
  links: p.linksText,
  media_ended_at_ms: p.mediaEndedAtMs,
  media_ended_hung: p.isMediaHung,
  media_ended_sessions: p.mediaEndedSessions,
})

type FixedFacts = Omit<NodeFacts, keyof NodeLoadFacts>

const insertFacts = statement((db, p: LoadValues & FixedFacts & { id: string }, dialect) =>
  db.insertInto('node_facts').values({
    node_id: p.id,
    version: p.version,
    cores: p.cores,
    rtmp_port: p.rtmpPort,
    rtmps_port: p.rtmpsPort,
    region: p.region || null,
    ...loadRow(p),
    reported_at_ms: databaseTime(dialect),
  }),
)

const setLoad = statement((db, p: LoadValues & { id: string }, dialect) =>
  db
    .updateTable('node_facts')
    .set({ ...loadRow(p), reported_at_ms: databaseTime(dialect) })
    .where('node_id', '=', p.id),
)

const facts = statement((db, _none: object, dialect) =>
  db
    .selectFrom('node_facts')
    .select(columnsOf('node_facts'))
    .select(sql<number>`${databaseTime(dialect)} - coalesce(reported_at_ms, 0)`.as('age_ms')),
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

export class NodeReadVerbs extends Verbs {
  async list(): Promise<Node[]> {
    return (await this.executor.all(list, {})).map(fromRow)
  }

  async doubtful(hostKey: string): Promise<Node[]> {
    return (await this.executor.all(doubtful, { hostKey })).map(fromRow)
  }

  async keys(): Promise<ReadonlyMap<string, string>> {
    const rows = await this.executor.all(list, {})
    return new Map(rows.flatMap(({ id, keyId }) => (keyId === null ? [] : [[id, keyId]])))
  }

  async facts(): Promise<ReadonlyMap<string, ReportedFacts>> {
    const rows = await this.executor.all(facts, {})
    return new Map(rows.map((row) => [row.node_id, factsFrom(row)]))
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
    const { version, cores, region, rtmpPort, rtmpsPort, ...load } = about
    await this.executor.run(insertFacts, { id, version, cores, region, rtmpPort, rtmpsPort, ...valuesOf(load) })
  }

  async setLoad(id: string, load: NodeLoadFacts): Promise<void> {
    await this.executor.run(setLoad, { id, ...valuesOf(load) })
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

const factsFrom = (row: RowOf<'node_facts'> & { age_ms: number }): ReportedFacts => ({
  version: row.version,
  cores: row.cores,
  region: row.region ?? '',
  ageMs: Math.max(0, row.age_ms),
  cpuPercent: row.cpu_percent,
  mediaPercent: row.media_percent,
  egressBitrate: row.egress_bitrate,
  // A later version may have more reasons.
  full: FULL_REASONS.filter((reason) => row.full_reasons?.split(',').includes(reason)),
  rtmpPort: row.rtmp_port,
  rtmpsPort: row.rtmps_port,
  links: row.links === null ? null : parseNodeLinks(row.links),
  mediaProcessEnd: mediaEndFrom(row),
})

function mediaEndFrom(row: RowOf<'node_facts'>): MediaProcessEnd | null {
  const atMs = row.media_ended_at_ms
  return atMs === null ? null : { atMs, isHung: row.media_ended_hung === 1, sessions: row.media_ended_sessions ?? 0 }
}

const fromRow = ({ expired, keyId: _keyId, ...row }: Listed): Node => ({ ...row, isExpired: expired === 1 })
