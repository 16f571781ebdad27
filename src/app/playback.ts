import type { App } from './app.ts'
import type { Channels } from './channels.ts'
import { loadPlayback } from '../commands/channels/playback.ts'
import { Playbacks } from '../services/playbacks.ts'
import { ServedBytesCounter } from '../services/servedBytes.ts'
import type { PlaybackOptions } from '../edge/http/channels/playback.ts'
import { startJobs } from '../jobs/timers.ts'

/** A crash loses the counts of at most this time. */
const COUNT_EVERY_MS = 5000

export interface Playback {
  readonly options: PlaybackOptions
  /** Saves the remaining counts. */
  stop(): Promise<void>
}

/** Serves the HLS of this node's engines until it is stopped. */
export async function startPlayback(
  app: App,
  { viewed, measured }: Pick<Channels, 'viewed' | 'measured'>,
): Promise<Playback> {
  const { ctx, bus, channelStreams } = app
  const here = { processName: measured.node, runs: (engineId: string) => channelStreams.find(engineId) !== undefined }
  const playbacks = new Playbacks({ clock: ctx.clock, load: (id) => loadPlayback(ctx, here, id) })
  const served = new ServedBytesCounter(ctx, measured.viewers, ctx.sessions.counts)
  const unfollow = bus.on('channelChanged', (change) => playbacks.forget(change))
  const jobs = startJobs(ctx, [{ name: 'write served bytes', everyMs: COUNT_EVERY_MS, run: () => served.flush() }])
  return {
    options: {
      playbacks,
      served,
      streamOf: (engineId) => channelStreams.find(engineId),
      viewed,
      claim: () => app.config.channels.viewerClaim,
    },
    async stop() {
      unfollow()
      await jobs.stop()
      await served.flush()
    },
  }
}
