import type { NodeUsage } from '../../core/sessions/types.ts'
import type { Executor } from '../executor.ts'
import { fieldsOf } from '../records.ts'
import { larger, upsertion } from '../rowTable.ts'
import { addToHours } from './usage.ts'

const put = upsertion({
  table: 'node_usage',
  key: ['node_id', 'ord'],
  merged: larger,
})

const HOUR = [
  'account_id',
  'hour_ms',
  'stream_name',
  'protocol',
  'token_id',
  'tracking_id',
  'country',
  'bytes_in',
  'bytes_out',
] as const

/** Writes totals of a node. No other node writes to its rows, so no order is needed against deadlocks. */
export const putNodeUsage = (executor: Executor, node: string, usage: readonly NodeUsage[]): Promise<void> =>
  put(
    executor,
    usage.map((one) => toRow(node, one)),
  )

/** Adds rows of a node to the sums of all nodes, and deletes them. One that is gone adds nothing, so a call may be repeated. */
export async function foldNodeUsage(executor: Executor, node: string, ords: readonly number[]): Promise<void> {
  const deleted = await executor.askInSlices(ords, (db, slice) =>
    db
      .deleteFrom('node_usage')
      .where('node_id', '=', node)
      .where('ord', 'in', slice)
      .returning(fieldsOf('node_usage', HOUR)),
  )
  const hours = deleted.map((row) => ({ ...row, cacheBytes: 0 }))
  await addToHours(executor, hours)
}

/** Does the same with at most `limit` rows of a node; returns how many it found. */
export async function foldSomeOfNode(executor: Executor, node: string, limit: number): Promise<number> {
  const rows = await executor.ask((db) =>
    db.selectFrom('node_usage').select('ord').where('node_id', '=', node).orderBy('ord').limit(limit),
  )
  await foldNodeUsage(
    executor,
    node,
    rows.map(({ ord }) => ord),
  )
  return rows.length
}

/** Unknown values are empty or 0, as in the hourly sums. */
const toRow = (node: string, usage: NodeUsage) => ({
  ...usage,
  nodeId: node,
  tokenId: usage.tokenId ?? 0,
  trackingId: usage.trackingId ?? '',
  country: usage.country ?? '',
})
