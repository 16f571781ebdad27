import type { App } from './app.ts'
import type { Encoders } from './encoders.ts'
import type { ViewerEncoding } from './viewerEncoding.ts'
import type { AccountShare } from '../base/accountShare.ts'
import { timeOrderedId } from '../base/ids.ts'
import type { Context } from '../commands/context.ts'
import {
  abandonedRecordings,
  adoptRecordings,
  beginRecording,
  completeRecording,
  deletedRecordings,
  endRecording,
  failRecording,
  forgetRecording,
} from '../commands/recordings/lifecycle.ts'
import { followSwitches } from '../commands/recordings/followSwitches.ts'
import { captureThumbnail } from '../commands/recordings/thumbnails.ts'
import { hostKeyOf } from '../config/dataDirectory.ts'
import { recordingsDir } from '../config/paths.ts'
import { liveView } from '../config/holder.ts'
import type { Config } from '../config/schema.ts'
import type { RecordingRouteOptions } from '../edge/http/recordings/routes.ts'
import type { Ffmpeg } from '../media/ffmpeg/ffmpeg.ts'
import { createPackager, type Packager, type PackagerLimits } from '../media/packager.ts'
import type { RecordingBook } from '../media/recordings/recordings.ts'

type PackagerParts = Pick<Encoders, 'load'> & {
  readonly ffmpeg: Ffmpeg
  readonly share: AccountShare
  readonly viewerEncoding: Pick<ViewerEncoding, 'room' | 'mediaOf'>
}

/** Packages the feeds on the air until it is stopped. */
export function startPackager(app: App, { ffmpeg, share, load, viewerEncoding }: PackagerParts): Packager {
  const { config, ctx, segmentMemory: memory, streamNumbers: numbers } = app
  const packager = createPackager({
    ...ctx,
    ffmpeg,
    share,
    load,
    encodingRoom: viewerEncoding.room,
    mediaOf: viewerEncoding.mediaOf,
    numbers,
    memory,
    segmentSeconds: config.hls.segmentSeconds,
    lowLatency: config.hls.lowLatency,
    limits: liveView(() => limitsOf(app.config)),
    capture: (feed, image) => captureThumbnail(ctx, feed, image),
    recordings: {
      dir: recordingsDir(config),
      newId: () => timeOrderedId(ctx.clock.now(), ctx.random),
      book: recordingBook(ctx, recordingsHostKey(config)),
    },
  })
  const unwatch = ctx.sessions.feeds.watch((feed, what) => {
    if (what === 'started') packager.feedStarted(feed)
    else packager.feedEnded(feed.feedId)
  })
  ctx.latestThumbnails.onRequest((feed) => packager.takeThumbnail(feed))
  const switches = followSwitches(ctx, (feed, isOn) => packager.record(feed, isOn))
  return {
    ...packager,
    async stop(graceMs) {
      await switches.stop()
      await packager.stop(graceMs)
      unwatch()
      ctx.latestThumbnails.onRequest(() => undefined)
    },
  }
}

const limitsOf = ({ hls, thumbnails, recordings }: Config): PackagerLimits => ({
  maxStreams: hls.maxStreams,
  idleMs: hls.idleSeconds * 1000,
  listSegments: hls.listSegments,
  thumbnailsEveryMs: thumbnails.everySeconds * 1000,
  minFreeBytes: recordings.minFreeMegabytes * 1_000_000,
})

/** Identifies the directory of recordings among nodes. */
export const recordingsHostKey = (config: Config): string => hostKeyOf(config.data.dir, recordingsDir(config))

/** The files of finished recordings, for the routes. */
export const recordingFiles = ({ files, recordings }: Packager, hostKey: string): RecordingRouteOptions => ({
  hostKey,
  pathOf: (id) => files.finished(id),
  thumbnailOf: (id) => files.thumbnail(id),
  diskSpace: () => files.space(),
  removeDeleted: () => recordings.removeDeleted(),
  removeFiles: (id) => files.remove(id),
})

/** Saves the state of recordings in one directory. */
const recordingBook = (ctx: Context, hostKey: string): RecordingBook => ({
  begin: (feed, begun) => beginRecording(ctx, feed, { ...begun, hostKey }),
  end: (id, atMs, problem) => endRecording(ctx, id, { atMs, problem }),
  complete: (id, file) => completeRecording(ctx, id, file),
  fail: (id, problem) => failRecording(ctx, id, problem),
  forget: (id) => forgetRecording(ctx, id),
  adopt: (ids) => adoptRecordings(ctx, hostKey, ids),
  abandoned: () => abandonedRecordings(ctx, hostKey),
  deleted: () => deletedRecordings(ctx, hostKey),
})
