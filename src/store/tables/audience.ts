import { setImmediate } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import { DAY_MS, type TimeSpan } from '../../base/time.ts'
import { siteOfOrigin } from '../../core/audience/families.ts'
import type { WatchedSession } from '../../core/audience/measure.ts'
import type { ViewerSession } from '../../core/audience/records.ts'
import { hashOf } from '../../core/audience/sketch.ts'
import { AUDIENCE_DIMENSIONS, type AudienceRow } from '../../core/audience/slots.ts'
import type { CountryViews, PublishedFeed } from '../../core/audience/watched.ts'
import { qualityByHour } from '../../core/quality/sessionQuality.ts'
import { viewerQualityOf } from '../../core/quality/viewerQuality.ts'
import { readEndReason } from '../../core/sessions/endReason.ts'
import type { SlotLength } from '../../core/zonedSlots.ts'
import type { AudienceQuery, CountriesQuery, PublishedQuery, ViewerSessionQuery } from '../audience.ts'
import { statement, Verbs } from '../executor.ts'
import { upsertion } from '../rowTable.ts'
import { fieldOf, fieldsOf, type FieldsOf } from '../records.ts'
import { type DB, namesWithout } from '../schema.ts'
import { keysetPage } from './keyset.ts'
import { META } from './meta.ts'
import { NO_ADDRESS } from './viewerTraces.ts'

/** Sessions read at once. Other work goes on between two pages. */
const PAGE = 2_000

/** The days of a month that are still kept are read as the month. */
const MONTH_MAX_MS = 31 * DAY_MS

const nextHour = statement((db) => db.selectFrom('meta').select('value').where('key', '=', META.audienceFrom))

const firstSession = statement((db) =>
  db
    .selectFrom('sessions')
    .select(({ fn }) => fn.min('started_at_ms').as('atMs'))
    .where('action', '=', 'view'),
)

const advance = statement((db, p: { fromMs: number; toMs: number }) =>
  db.updateTable('meta').set({ value: p.toMs }).where('key', '=', META.audienceFrom).where('value', '=', p.fromMs),
)

const prune = statement((db, p: { beforeMs: number; monthBeforeMs: number; limit: number }) =>
  db.deleteFrom('audience').where((eb) =>
    eb(
      eb.refTuple('account_id', 'span', 'stream_name', 'at_ms'),
      'in',
      eb
        .selectFrom('audience as old')
        .select(['old.account_id', 'old.span', 'old.stream_name', 'old.at_ms'])
        .where('old.at_ms', '<', p.beforeMs)
        .where((old) => old.or([old('old.span', '<>', 'month'), old('old.at_ms', '<', p.monthBeforeMs)]))
        .limit(p.limit)
        .$asTuple('account_id', 'span', 'stream_name', 'at_ms'),
    ),
  ),
)

const forget = statement((db, p: { fromMs: number; span: SlotLength }) =>
  db.deleteFrom('audience').where('at_ms', '>=', p.fromMs).where('span', '=', p.span),
)

const slotRows = (db: Kysely<DB>) =>
  db
    .selectFrom('audience')
    .select(fieldsOf('audience', namesWithout('audience', 'span', 'parts')))
    .select('span as length')

const at = statement((db, p: { atMs: number; span: SlotLength }) =>
  slotRows(db).select('parts').where('at_ms', '=', p.atMs).where('span', '=', p.span),
)

const WATCHED = [
  'id',
  'account_id',
  'stream_name',
  'protocol',
  'country',
  'origin',
  'device',
  'browser',
  'jti',
  'address',
  'started_at_ms',
  'ended_at_ms',
  'quality',
] as const
type Watched = FieldsOf<'sessions', (typeof WATCHED)[number]>

const RECORDED = [...WATCHED, 'tracking_id', 'custom_viewer_data', 'end_reason', 'bytes_out'] as const

/** The entries of a dimension in `parts`, and the values of one of them, as `core/audience/slots.ts` packs them. */
const PARTS = {
  sqlite: {
    entries: (dimension: number) => sql`json_each(parts, ${sql.lit(`$[${dimension}]`)}) as entry`,
    valueAt: (index: number, _type: string) => sql`json_extract(entry.value, ${sql.lit(`$[${index}]`)})`,
  },
  postgres: {
    entries: (dimension: number) => sql`json_array_elements(parts::json -> ${sql.lit(dimension)}) as entry(value)`,
    valueAt: (index: number, type: string) => sql`cast(entry.value ->> ${sql.lit(index)} as ${sql.raw(type)})`,
  },
}

/** The action as the index of viewers has it: with a parameter, SQLite does not use it. */
const inRange = statement((db, p: ViewerSessionQuery) =>
  db
    .selectFrom('sessions')
    .select(fieldsOf('sessions', RECORDED))
    .select('cache_bytes as bytesFromCaches')
    .where('account_id', '=', p.accountId)
    .where('action', '=', sql.lit('view'))
    .where('id', '>', p.after)
    .where('id', '<', p.before)
    .orderBy('id')
    .limit(p.limit),
)

type StreamsQuery = Omit<AudienceQuery, 'streamName'>

const slotsIn = (db: Kysely<DB>, { accountId, length, fromMs, untilMs, withParts }: StreamsQuery) =>
  slotRows(db)
    .select(withParts ? 'parts' : sql<string>`''`.as('parts'))
    .where('account_id', '=', accountId)
    .where('span', '=', length)
    .where('at_ms', '>=', fromMs)
    .where('at_ms', '<', untilMs)

export class AudienceReadVerbs extends Verbs {
  async nextHour(): Promise<number> {
    return (await this.executor.first(nextHour, {}))?.value ?? 0
  }

  async firstSession(): Promise<number | null> {
    return (await this.executor.first(firstSession, {}))?.atMs ?? null
  }

  async sessions(span: TimeSpan, seed: number): Promise<WatchedSession[]> {
    const found = new Map<string, WatchedSession>()
    const see = (row: Watched) => found.set(row.id, watchedOf(row, span.untilMs, seed))
    // Open ones first: one that ends meanwhile is then read twice, and not missed.
    await this.#each('open', span, see)
    await this.#each('ended', span, see)
    return [...found.values()]
  }

  async range(query: ViewerSessionQuery): Promise<ViewerSession[]> {
    return (await this.executor.all(inRange, query)).map(viewerOf)
  }

  published({ accountId, fromMs, untilMs, streamNames, limit }: PublishedQuery): Promise<PublishedFeed[]> {
    return this.executor.ask((db) => {
      const found = db
        .selectFrom('feeds')
        .leftJoin('sessions', 'sessions.id', 'feeds.session_id')
        .select(fieldsOf('feeds', ['stream_name', 'started_at_ms', 'ended_at_ms']))
        .select((eb) => eb.fn.coalesce('sessions.country', sql.lit('')).as('country'))
        .where('feeds.account_id', '=', accountId)
        .where('feeds.started_at_ms', '<', untilMs)
        .where((eb) => eb.or([eb('feeds.ended_at_ms', 'is', null), eb('feeds.ended_at_ms', '>=', fromMs)]))
        .limit(limit)
      return streamNames === undefined ? found : found.where('feeds.stream_name', 'in', streamNames)
    })
  }

  /** The database takes the parts apart: with the sketches of all dimensions they are wide. */
  countries({ accountId, streamNames, length, fromMs, untilMs, limit }: CountriesQuery): Promise<CountryViews[]> {
    const { entries, valueAt } = PARTS[this.executor.dialect.name]
    return this.executor.ask(
      () => sql<CountryViews>`select stream_name as "streamName", at_ms as "atMs",
        ${valueAt(0, 'text')} as "country", ${valueAt(1, 'bigint')} as "views", ${valueAt(2, 'bigint')} as "watchMs"
      from audience cross join ${entries(AUDIENCE_DIMENSIONS.indexOf('country'))}
      where account_id = ${accountId} and span = ${length} and stream_name in (${sql.join(streamNames)})
      and at_ms >= ${fromMs} and at_ms < ${untilMs} order by 1, 2, 3 limit ${limit}`,
    )
  }

  slots({ streamName, ...query }: AudienceQuery): Promise<AudienceRow[]> {
    return this.executor.ask((db) => slotsIn(db, query).where('stream_name', '=', streamName).orderBy('at_ms'))
  }

  streams({ limit, ...query }: StreamsQuery & { readonly limit: number }): Promise<AudienceRow[]> {
    return this.executor.ask((db) => slotsIn(db, query).where('stream_name', '>', '').limit(limit))
  }

  /** Reads page after page: those that are open, or that have ended since the beginning of the span. */
  async #each(which: 'open' | 'ended', span: TimeSpan, see: (row: Watched) => void): Promise<void> {
    const key = which === 'open' ? 'account_id' : 'ended_at_ms'
    let after: readonly [string | number, string] = [which === 'open' ? '' : span.fromMs, '']
    for (;;) {
      const position = after
      const rows = await this.executor.ask((db) => {
        const watched = db
          .selectFrom('sessions')
          .select(fieldsOf('sessions', WATCHED))
          .where('action', '=', 'view')
          .where('started_at_ms', '<', span.untilMs)
          .where(hasMedia)
        const chosen =
          which === 'open'
            ? watched.where('ended_at_ms', 'is', null)
            : watched.where('ended_at_ms', 'is not', null).where('ended_at_ms', '>=', Number(position[0]))
        return keysetPage(chosen, { by: [key, 'id'], order: 'asc', after: position, limit: PAGE })
      })
      for (const row of rows) see(row)
      const last = rows.at(-1)
      if (last === undefined || rows.length < PAGE) return
      after = [last[fieldOf(key)] ?? '', last.id]
      await setImmediate()
    }
  }
}

const put = upsertion({
  table: 'audience',
  key: ['account_id', 'span', 'stream_name', 'at_ms'],
})

export class AudienceTxVerbs extends AudienceReadVerbs {
  async advance(fromMs: number, toMs: number): Promise<boolean> {
    return (await this.executor.run(advance, { fromMs, toMs })) === 1
  }

  at(span: SlotLength, atMs: number): Promise<AudienceRow[]> {
    return this.executor.all(at, { span, atMs })
  }

  async forget(span: SlotLength, fromMs: number): Promise<void> {
    await this.executor.run(forget, { span, fromMs })
  }

  async put(rows: readonly AudienceRow[]): Promise<void> {
    await put(this.executor, rows.map(toRow))
  }

  prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, monthBeforeMs: beforeMs - MONTH_MAX_MS, limit })
  }
}

/** Or its player reported why there is none. */
const hasMedia = sql<boolean>`(bytes_out > 0 or cache_bytes > 0 or quality is not null)`

type Recorded = FieldsOf<'sessions', (typeof RECORDED)[number]> & Pick<ViewerSession, 'bytesFromCaches'>

const viewerOf = (row: Recorded): ViewerSession => ({
  ...row,
  address: row.address === NO_ADDRESS ? null : row.address,
  endReason: row.endReason === null ? null : readEndReason(row.endReason),
  quality: viewerQualityOf(row.quality),
})

const watchedOf = (row: Watched, nowMs: number, seed: number): WatchedSession => ({
  accountId: row.accountId,
  streamName: row.streamName,
  of: {
    protocol: row.protocol,
    country: row.country ?? '',
    site: siteOfOrigin(row.origin),
    device: row.device ?? '',
    browser: row.browser ?? '',
  },
  viewer: hashOf(row.jti ?? row.address, seed),
  fromMs: row.startedAtMs,
  untilMs: row.endedAtMs ?? nowMs,
  quality: qualityByHour(row.quality),
})

const toRow = ({ length, ...row }: AudienceRow) => ({ ...row, span: length })
