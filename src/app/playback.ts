import { derivedKey, type App } from './app.ts'
import type { Logger } from '../base/log.ts'
import type { Sendfile } from '../base/sendfile.ts'
import { loadPlayback } from '../commands/channels/playback.ts'
import { Playbacks } from '../services/playbacks.ts'
import { PlaybackTickets } from '../services/playbackTickets.ts'
import { ServedBytesCounter } from '../services/servedBytes.ts'
import type { Viewers } from '../services/viewers.ts'
import { openSendfile } from '../edge/http/media/transferProof.ts'
import type { PlaybackOptions } from '../edge/http/channels/playback.ts'
import { SegmentCache } from '../edge/http/channels/segmentCache.ts'
import { SegmentTimes } from '../edge/http/channels/segmentTimes.ts'
import { startJobs } from '../jobs/timers.ts'

/** A crash loses the counts of at most this time. */
const COUNT_EVERY_MS = 5000
const SWEEP_EVERY_MS = 5000

export interface Playback {
  readonly options: PlaybackOptions
  /** Saves the remaining counts. */
  stop(): Promise<void>
}

/**
 * Serves the files of this node's engines until it is stopped.
 * @param folderOf the folder of an engine's files
 * @param viewers counts the viewers
 */
export async function startPlayback(
  app: App,
  folderOf: (engineId: string) => string,
  viewers: Viewers,
): Promise<Playback> {
  const { ctx, key, bus, config } = app
  const playbacks = new Playbacks({ clock: ctx.clock, load: (id) => loadPlayback(ctx, id) })
  const served = new ServedBytesCounter(ctx, viewers)
  const sendfile = config.server.sendfile ? await sendfileFor(ctx.log) : null
  const segments = new SegmentCache(ctx.clock, sendfile)
  const unfollow = bus.on('channelChanged', (change) => playbacks.forget(change))
  const jobs = startJobs(ctx.clock, ctx.log, [
    { name: 'write served bytes', everyMs: COUNT_EVERY_MS, run: () => served.flush() },
    { name: 'forget segments', everyMs: SWEEP_EVERY_MS, run: async () => segments.sweep() },
  ])
  return {
    options: {
      playbacks,
      served,
      segments,
      times: new SegmentTimes(),
      sendfile,
      folderOf,
      tickets: new PlaybackTickets(derivedKey(key, 'sluice playback tickets')),
      claim: () => app.config.channels.viewerClaim,
    },
    async stop() {
      unfollow()
      await jobs.stop()
      segments.clear()
      await served.flush()
    },
  }
}

/** Null, with a line in the log, where sendfile is not available. */
async function sendfileFor(log: Logger): Promise<Sendfile | null> {
  const opened = await openSendfile()
  if (opened.ok) return opened.value
  log.info({}, `${opened.error} Segments are copied.`)
  return null
}
