import type { Kysely } from 'kysely'
import { dbFlag } from '../columns.ts'
import { fieldsOf, type FieldsOf } from '../records.ts'
import { type DB, namesWithout } from '../schema.ts'
import type { StoredFeed } from '../store.ts'

/** The columns of a feed without its end, and without what is measured of it, which is large. */
export const FEED_NAMES = namesWithout('feeds', 'ended_at_ms', 'reading', 'most_viewers', 'bytes_out')

export const FEED_COLUMNS = fieldsOf('feeds', FEED_NAMES)

export type FeedRow = FieldsOf<'feeds', (typeof FEED_NAMES)[number]>

/** A feed, and whatever else was read beside it. */
export const feedFromRow = <R extends FeedRow>({ id, source, secured, recordSwitch, regions, ...row }: R) => ({
  ...row,
  feedId: id,
  sourceId: source === '' ? null : source,
  secured: secured === 1,
  recordSwitch: recordSwitch === null ? null : recordSwitch === 1,
  regions: regions === null ? null : (JSON.parse(regions) as string[]),
})

export const feedRow = ({ feedId, sourceId, secured, recordSwitch, regions, ...feed }: StoredFeed): FeedRow => ({
  ...feed,
  id: feedId,
  source: sourceId ?? '',
  secured: dbFlag(secured),
  recordSwitch: recordSwitch === null ? null : dbFlag(recordSwitch),
  regions: regions && JSON.stringify(regions),
})

/** Feeds, each with its token and the session of its publisher while they are on record. */
export const feedsWithOrigin = (db: Kysely<DB>) =>
  db
    .selectFrom('feeds')
    .leftJoin('tokens', (join) =>
      join.onRef('tokens.id', '=', 'feeds.token_id').onRef('tokens.account_id', '=', 'feeds.account_id'),
    )
    .leftJoin('sessions', 'sessions.id', 'feeds.session_id')
    .select(FEED_COLUMNS)
    .select('feeds.ended_at_ms as endedAtMs')
