import { remoteFeed } from '../../../commands/sessions/revoke.ts'
import { streamIdOf } from '../../../core/streams/streamId.ts'
import type { ActiveFeed, RemoteFeedRef } from '../../../media/feedsOnAir.ts'
import type { HlsParts } from './parts.ts'
import type { StreamSource } from './viewers.ts'

/** A node that puts a feed on the air tells the others before its own registry has it: by less than this. */
const SOON_MS = 1000
/** Most publishers that change their node are back within less. */
const BETWEEN_MS = 2000

/** The feed of a source that is on the air here, or is within a second. Undefined: there is none. */
export async function feedSoon(
  ctx: Pick<HlsParts['ctx'], 'sessions' | 'clock'>,
  source: StreamSource,
): Promise<ActiveFeed | undefined> {
  const found = () => feedHere(ctx, source)
  await begun(ctx, source, SOON_MS, async () => found() !== undefined)
  return found()
}

/** The feed of a source at another node. While the publisher is between two nodes: as soon as it has come to one, or to this one. */
export async function remoteFeedSoon(ctx: HlsParts['ctx'], source: StreamSource): Promise<RemoteFeedRef | undefined> {
  let remote: RemoteFeedRef | undefined
  await begun(ctx, source, BETWEEN_MS, async () => {
    remote = await remoteFeed(ctx, source, source.sourceId)
    return remote !== undefined || feedHere(ctx, source) !== undefined
  })
  return remote
}

/** Looks at once, whenever a source of the stream begins at any node, and when the time is over, until it is found. */
async function begun(
  { sessions, clock }: Pick<HlsParts['ctx'], 'sessions' | 'clock'>,
  source: StreamSource,
  withinMs: number,
  isFound: () => Promise<boolean>,
): Promise<void> {
  const untilMs = clock.monotonic() + withinMs
  let waits = true
  while (!(await isFound()) && waits) {
    const leftMs = untilMs - clock.monotonic()
    waits = leftMs > 0 && (await sessions.demand.wait(streamIdOf(source), clock, leftMs))
  }
}

const feedHere = (
  { sessions }: Pick<HlsParts['ctx'], 'sessions'>,
  { accountId, streamName, sourceId }: StreamSource,
): ActiveFeed | undefined => sessions.feeds.get(accountId, streamName, sourceId)
