import { pause } from '../../../base/clock.ts'
import type { ActiveFeed } from '../../../media/feedsOnAir.ts'
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
