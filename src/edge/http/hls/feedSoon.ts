import { pause } from '../../../base/clock.ts'
import { remoteFeed } from '../../../commands/sessions/revoke.ts'
import { streamIdOf } from '../../../core/streams/streamId.ts'
import type { ActiveFeed, RemoteFeedRef } from '../../../media/feedsOnAir.ts'
import type { HlsParts } from './parts.ts'
import type { StreamSource } from './viewers.ts'

/** A node that puts a feed on the air tells the others before its own registry has it: by less than this. */
const SOON_MS = 1000

/** The feed of a source that is on the air here, or is within a second. Undefined: there is none. */
export async function feedSoon(
  { sessions, clock }: Pick<HlsParts['ctx'], 'sessions' | 'clock'>,
  { accountId, streamName, sourceId }: StreamSource,
): Promise<ActiveFeed | undefined> {
  const find = () => sessions.feeds.get(accountId, streamName, sourceId)
  const begun = new AbortController()
  const unwatch = sessions.feeds.watch(() => find() !== undefined && begun.abort())
  await pause(clock, SOON_MS, begun.signal)
  unwatch()
  return find()
}

/** Most publishers that change their node are back within less. */
const BETWEEN_MS = 2000

/** The feed of a source at another node. While the publisher is between two nodes: as soon as it has come to one, or to this one. */
export async function remoteFeedSoon(
  ctx: HlsParts['ctx'],
  { accountId, streamName, sourceId }: StreamSource,
): Promise<RemoteFeedRef | undefined> {
  const { sessions, clock } = ctx
  const stream = { accountId, streamName }
  const untilMs = clock.monotonic() + BETWEEN_MS
  for (;;) {
    const remote = await remoteFeed(ctx, stream, sourceId)
    const leftMs = untilMs - clock.monotonic()
    const isOver = leftMs <= 0 || sessions.feeds.get(accountId, streamName, sourceId) !== undefined
    if (remote !== undefined || isOver) return remote
    if (!(await sessions.demand.wait(streamIdOf(stream), clock, leftMs))) return undefined
  }
}
