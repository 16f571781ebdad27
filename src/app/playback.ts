import { derivedKey, type App } from './app.ts'
import { loadPlayback } from '../commands/channels/playback.ts'
import { Playbacks } from '../services/playbacks.ts'
import { PlaybackTickets } from '../services/playbackTickets.ts'
import { ServedBytesCounter } from '../services/servedBytes.ts'
import type { Viewers } from '../services/viewers.ts'
import type { PlaybackOptions } from '../edge/http/channels/playback.ts'
import { startJobs } from '../jobs/timers.ts'

/** A crash loses the counts of at most this time. */
const COUNT_EVERY_MS = 5000

export interface Playback {
  readonly options: PlaybackOptions
  /** Saves the remaining counts. */
  stop(): Promise<void>
}

/**
 * Serves the HLS of this node's engines until it is stopped.
 * @param thumbnailOf reads the latest JPEG of an engine
 * @param viewers counts the viewers
 */
export async function startPlayback(
  app: App,
  thumbnailOf: (engineId: string) => Promise<Buffer | null>,
  viewers: Viewers,
): Promise<Playback> {
  const { ctx, key, bus, channelStreams } = app
  const playbacks = new Playbacks({ clock: ctx.clock, load: (id) => loadPlayback(ctx, id) })
  const served = new ServedBytesCounter(ctx, viewers)
  const unfollow = bus.on('channelChanged', (change) => playbacks.forget(change))
  const jobs = startJobs(ctx.clock, ctx.log, [
    { name: 'write served bytes', everyMs: COUNT_EVERY_MS, run: () => served.flush() },
  ])
  return {
    options: {
      playbacks,
      served,
      streamOf: (engineId) => channelStreams.find(engineId),
      thumbnailOf,
      tickets: new PlaybackTickets(derivedKey(key, 'sluice playback tickets')),
      claim: () => app.config.channels.viewerClaim,
    },
    async stop() {
      unfollow()
      await jobs.stop()
      await served.flush()
    },
  }
}
