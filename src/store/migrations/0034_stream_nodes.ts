import type { Kysely } from 'kysely'
import type { DialectName } from '../executor.ts'
import { Maker } from './maker.ts'

/**
 * The viewers of each stream by the node that serves them, and the bytes that other nodes than its own sent of a feed. The
 * database deletes the first with their node and the second with their feed, because nodes of the version before delete
 * both. Those nodes report their viewers in the readings of their feeds alone, so until they are upgraded the sums lack them.
 */
export async function up(db: Kysely<unknown>, engine: DialectName): Promise<void> {
  const make = new Maker(db, engine)
  const columns = 'account_id text, stream_name text, node_id node, whep big, hls big, bitrate_out big'
  await make.table('stream_nodes', columns, ['account_id', 'stream_name', 'node_id'])
  await make.index('stream_nodes_node', 'stream_nodes', ['node_id'])
  await make.table('feed_bytes', 'feed_id feed, node_id text, bytes_out big', ['feed_id', 'node_id'])
}
