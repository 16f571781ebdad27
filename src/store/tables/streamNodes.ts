import { sql } from 'kysely'
import { PROTOCOLS_OF } from '../../core/access/protocols.ts'
import type { StreamViewing } from '../../core/streams/reading.ts'
import type { StreamRef } from '../../core/streams/streamId.ts'
import { inSlices, statement, Verbs } from '../executor.ts'
import { upsertion } from '../rowTable.ts'
import type { ViewingQuery } from '../store.ts'

export class StreamNodeReadVerbs extends Verbs {
  async sum(query: ViewingQuery): Promise<ReadonlyMap<string, StreamViewing>> {
    const rows = await this.executor.all(sums, query)
    return new Map(rows.map(({ streamName, ...viewing }) => [streamName, viewing]))
  }

  remoteViewers(node: string): Promise<(StreamRef & { readonly viewers: number })[]> {
    return this.executor.all(ofNode, { node })
  }
}

const put = upsertion({
  table: 'stream_nodes',
  key: ['account_id', 'stream_name', 'node_id'],
})

export class StreamNodeTxVerbs extends StreamNodeReadVerbs {
  /** Each node writes rows of its own, so no order is needed against deadlocks. */
  put(node: string, streams: readonly (StreamRef & StreamViewing)[]): Promise<void> {
    return put(
      this.executor,
      streams.map((stream) => ({ ...stream, nodeId: node })),
    )
  }

  /** Rows are named by their whole key, each by itself: joined to a list of values, PostgreSQL would read the rows of all nodes. */
  async delete(node: string, streams: readonly StreamRef[]): Promise<void> {
    await inSlices(streams, (slice) =>
      this.executor.change((db) =>
        db
          .deleteFrom('stream_nodes')
          .where((eb) =>
            eb.or(
              slice.map(({ accountId, streamName }) =>
                eb.and({ account_id: accountId, stream_name: streamName, node_id: node }),
              ),
            ),
          ),
      ),
    )
  }
}

const SUMS = [
  sql<number>`cast(sum(whep) as bigint)`.as('whep'),
  sql<number>`cast(sum(hls) as bigint)`.as('hls'),
  sql<number>`cast(sum(bitrate_out) as bigint)`.as('bitrateOut'),
] as const

const ALL_VIEWERS = sql.join(
  PROTOCOLS_OF.view.map((protocol) => sql.ref(protocol)),
  sql` + `,
)

const sums = statement((db, p: ViewingQuery) =>
  db
    .selectFrom('stream_nodes')
    .select('stream_name as streamName')
    .select(SUMS)
    .where('account_id', '=', p.accountId)
    .where('stream_name', '>=', p.from)
    .where('stream_name', '<=', p.to)
    .where('node_id', '<>', p.except)
    .groupBy('stream_name'),
)

/** Of a stream with several feeds at the node, each row counts once. */
const ofNode = statement((db, p: { node: string }) =>
  db
    .selectFrom((eb) =>
      eb
        .selectFrom('feeds')
        .select(['account_id', 'stream_name'])
        .distinct()
        .where('node', '=', p.node)
        .where('ended_at_ms', 'is', null)
        .as('own'),
    )
    .innerJoin('stream_nodes', (join) =>
      join
        .onRef('stream_nodes.account_id', '=', 'own.account_id')
        .onRef('stream_nodes.stream_name', '=', 'own.stream_name'),
    )
    .select(['own.account_id as accountId', 'own.stream_name as streamName'])
    .select(sql<number>`cast(sum(${ALL_VIEWERS}) as bigint)`.as('viewers'))
    .where('node_id', '<>', p.node)
    .groupBy(['own.account_id', 'own.stream_name']),
)
