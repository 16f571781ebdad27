import { integer, text, toggle } from './keys.ts'
import { notEmpty } from './rules.ts'

/** The keys of what is made of feeds beside forwarding them: a part of the one table in `schema.ts`. */
export const packaging = {
  ffmpeg: {
    path: text({
      default: 'ffmpeg',
      allowed: 'the path of a program, or a name that is found in PATH',
      rule: notEmpty,
      about: 'The ffmpeg program that packages, records and converts media; version 5.1 or newer.',
    }),
    maxProcesses: integer({
      default: 32,
      min: 1,
      max: 1024,
      about: 'How many ffmpeg processes may run at a time; what would need one more is refused.',
    }),
  },
  hls: {
    segmentSeconds: integer({
      default: 2,
      min: 1,
      max: 10,
      about: 'How long a segment is at least; it ends at the first keyframe after that, in seconds.',
    }),
    listSegments: integer({
      default: 6,
      min: 3,
      max: 60,
      about: 'How many segments a playlist names; all of them are kept in memory.',
    }),
    lowLatency: toggle({
      default: true,
      about: 'Whether playlists name parts of half a second too, for players of low-latency HLS.',
    }),
    maxStreams: integer({
      default: 16,
      min: 1,
      max: 1024,
      about: 'How many feeds may be packaged for HLS at a time; each has an ffmpeg process.',
    }),
    idleSeconds: integer({
      default: 30,
      min: 1,
      max: 3600,
      about: 'How long a feed is still packaged after the last request for it, in seconds.',
    }),
    sessionSeconds: integer({
      default: 20,
      min: 6,
      max: 3600,
      about:
        'How long after its last request a viewer of HLS is taken to have left, in seconds; at least three segments.',
    }),
  },
  recordings: {
    dir: text({
      default: '',
      allowed: 'nothing, or a path',
      about: 'The directory of recordings; nothing means `<data.dir>/recordings`.',
    }),
    minFreeMegabytes: integer({
      default: 1024,
      min: 0,
      max: 1_000_000_000,
      about: 'How much of the disk recordings leave free, in megabytes; with less than that recording stops.',
    }),
  },
  thumbnails: {
    everySeconds: integer({
      default: 30,
      min: 1,
      max: 3600,
      about: 'How often a thumbnail is taken of a feed whose token has `enableThumbnails`, in seconds.',
    }),
  },
} as const
