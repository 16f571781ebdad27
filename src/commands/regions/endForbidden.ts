import { mayGoTo } from '../../core/clusters.ts'
import type { SessionContext } from '../context.ts'

/**
 * Ends what nodes have of feeds that may not go to their region: one of another token has come to the stream. Call it when a
 * feed begins, and every second.
 */
export function endForbidden({ lentRooms, sessions }: SessionContext): void {
  lentRooms.endIf(
    ({ region, stream: { accountId, streamName }, feedAt }) =>
      feedAt === sessions.node && !mayGoTo(region, sessions.feeds.ofStream(accountId, streamName)),
  )
}
