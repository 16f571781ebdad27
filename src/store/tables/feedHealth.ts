import { type Kysely, sql } from 'kysely'
import type { FeedPoint } from '../../core/streams/history.ts'
import { statement, Verbs } from '../executor.ts'
import { fieldOf } from '../records.ts'
import { RowTable } from '../rowTable.ts'
import { type DB, namesWithout } from '../schema.ts'
import type { FeedHealthQuery, StoredPoint } from '../store.ts'
import { pruning } from './pruning.ts'

/** Shares are stored as parts of a million. */
const SHARE = 1_000_000

export class FeedHealthReadVerbs extends Verbs {
  async points(query: FeedHealthQuery): Promise<FeedPoint[]> {
    const rows = await this.executor.ask((db) => points(db, query))
    return rows.toReversed().map(({ source, ...row }) => ({
      ...row,
      sourceId: source === '' ? null : source,
      packetLoss: shareOf(row.packetLoss),
      bFrames: shareOf(row.bFrames),
    }))
  }
}

export class FeedHealthTxVerbs extends FeedHealthReadVerbs {
  async put(rows: readonly StoredPoint[]): Promise<void> {
    if (rows.length === 0) return
    await this.executor.run(put, POINTS.params(this.executor, rows.map(toRow)))
  }

  prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}

const POINTS = new RowTable('point', {
  feed_id: 'text',
  at_ms: 'bigint',
  bitrate_in: 'bigint',
  frame_rate: 'bigint',
  keyframe_ms: 'bigint',
  packet_loss: 'bigint',
  round_trip_ms: 'bigint',
  b_frames: 'bigint',
  width: 'bigint',
  height: 'bigint',
  video_codec: 'text',
  audio_codec: 'text',
})

/** The feed of a point may have been deleted meanwhile. */
const put = statement(
  (
    _,
    p: ReturnType<typeof POINTS.params>,
    dialect,
  ) => sql`insert into feed_health (${POINTS.names}) select ${POINTS.names} from ${POINTS.from(p, dialect)}
      where exists (select 1 from feeds where feeds.id = point.feed_id)
      on conflict (feed_id, at_ms) do nothing`,
)

const whole = (value: number | null) => (value === null ? null : Math.round(value))
const share = (value: number | null) => (value === null ? null : Math.round(value * SHARE))
const shareOf = (stored: number | null): number | null => (stored === null ? null : stored / SHARE)

const toRow = (point: StoredPoint) => ({
  ...point,
  atMs: whole(point.atMs),
  bitrateIn: whole(point.bitrateIn),
  frameRate: whole(point.frameRate),
  keyframeMs: whole(point.keyframeMs),
  packetLoss: share(point.packetLoss),
  roundTripMs: whole(point.roundTripMs),
  bFrames: share(point.bFrames),
  width: whole(point.width),
  height: whole(point.height),
})

const mean = <C extends keyof DB['feed_health']>(column: C) =>
  sql<number | null>`cast(round(avg(${sql.ref(column)})) as bigint)`.as(fieldOf(column))

/**
 * A slot of the query has several rows of a feed if it is longer than theirs. Not prepared: with one plan for all values, PostgreSQL
 * reads that time of all streams.
 */
const points = (db: Kysely<DB>, p: FeedHealthQuery) =>
  db
    .selectFrom((eb) =>
      eb
        .selectFrom('feeds')
        .innerJoin('feed_health', 'feed_health.feed_id', 'feeds.id')
        .select([...namesWithout('feed_health', 'at_ms'), 'source'])
        .select(sql<number>`at_ms - at_ms % cast(${p.slotMs} as bigint)`.as('slot_ms'))
        .where('account_id', '=', p.accountId)
        .where('stream_name', '=', p.streamName)
        .where((of) => of.or([of('ended_at_ms', 'is', null), of('ended_at_ms', '>=', p.fromMs)]))
        .where('at_ms', '>=', p.fromMs)
        .where('at_ms', '<', p.untilMs)
        .as('own'),
    )
    .select(['feed_id as feedId', 'source', 'slot_ms as atMs'])
    .select([mean('bitrate_in'), mean('frame_rate'), mean('packet_loss'), mean('round_trip_ms'), mean('b_frames')])
    .select(({ fn }) => [
      fn.max('keyframe_ms').as('keyframeMs'),
      fn.max('width').as('width'),
      fn.max('height').as('height'),
      fn.max('video_codec').as('videoCodec'),
      fn.max('audio_codec').as('audioCodec'),
    ])
    .groupBy(['feed_id', 'source', 'slot_ms'])
    .orderBy('slot_ms', 'desc')
    .orderBy('feed_id', 'desc')
    .limit(p.limit)

const prune = pruning('feed_health', 'at_ms', ['feed_id', 'at_ms'])
