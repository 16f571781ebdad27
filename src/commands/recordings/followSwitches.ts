import { Batches } from '../../base/batches.ts'
import { repeat } from '../../base/repeat.ts'
import { streamIdOf } from '../../core/streams/streamId.ts'
import { type ActiveFeed, StaleStreams } from '../../media/feedsOnAir.ts'
import type { SessionContext } from '../context.ts'

/** When a look that failed, or found a feed that is about to begin here, is repeated. */
const AGAIN_MS = 1000

/**
 * Has feeds of this node recorded, or no longer, as users switch it at any node, until it is stopped.
 *
 * @param record begins or ends the recording of a feed; one that is recorded already goes on
 */
export function followSwitches(
  ctx: SessionContext,
  record: (feed: ActiveFeed, isOn: boolean) => void,
): { stop(): Promise<void> } {
  const switched = new StaleStreams()
  // One at a time, so that an older state never overwrites a later one.
  const looks = new Batches<'switches'>(1)
  const look = (): Promise<void> => looks.add('switches', () => applySwitches(ctx, switched, record))
  const unfollow = ctx.cache.onChange((changed) => {
    if (changed.kind !== 'recording' && changed.kind !== 'all') return
    if (changed.kind === 'recording' && changed.stream !== null) switched.add(changed.stream)
    else switched.addAll()
    // The next round repeats what fails here, and logs it.
    look().catch(() => undefined)
  })
  const rounds = repeat({ ...ctx, name: 'follow recordings that users switch', everyMs: AGAIN_MS }, look)
  return {
    stop() {
      unfollow()
      return rounds.stop()
    },
  }
}

async function applySwitches(
  { store, sessions }: SessionContext,
  switched: StaleStreams,
  record: (feed: ActiveFeed, isOn: boolean) => void,
): Promise<void> {
  const streams = switched.take()
  if (streams?.length === 0) return
  const names = streams && new Set(streams.map(streamIdOf))
  try {
    for (const one of await store.read.feeds.switched(sessions.node)) {
      if (names?.has(streamIdOf(one)) === false) continue
      const feed = sessions.feeds.ofStream(one.accountId, one.streamName).find(({ feedId }) => feedId === one.feedId)
      if (feed === undefined) switched.add(one)
      else record(feed, one.recordSwitch === true)
    }
  } catch (error) {
    if (streams === null) switched.addAll()
    else for (const stream of streams) switched.add(stream)
    throw error
  }
}
