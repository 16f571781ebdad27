import { choice, integer, list, text, toggle } from './keys.ts'
import { addressOrNetwork, deviceOrNothing, notEmpty } from './rules.ts'

/** The keys of HLS, recordings, thumbnails and ffmpeg: a part of the one table in `schema.ts`. */
export const packaging = {
  ffmpeg: {
    path: text({
      default: 'ffmpeg',
      allowed: 'the path of a program, or a name that is found in PATH',
      rule: notEmpty,
      about: 'The ffmpeg program that packages, records and converts media, version 5.1 or newer.',
    }),
    maxProcesses: integer({
      live: true,
      default: 32,
      min: 1,
      max: 1024,
      about:
        'The most ffmpeg processes at a time, of several accounts three quarters for each; Sluice refuses requests that need another one.',
    }),
    videoEncoder: choice(['libx264', 'h264_nvenc', 'h264_vaapi', 'h264_qsv', 'h264_videotoolbox', 'h264_v4l2m2m'], {
      default: 'libx264',
      about:
        'What encodes channels and the renditions of feeds; all but `libx264` need hardware, and the server starts only ' +
        'if they work.',
    }),
    device: text({
      default: '',
      allowed: 'empty, a path such as /dev/dri/renderD128, or the number of a GPU',
      rule: deviceOrNothing,
      about:
        'The device of `ffmpeg.videoEncoder`: a path for `h264_vaapi` and `h264_qsv`, a number for `h264_nvenc`; empty: ' +
        'ffmpeg chooses.',
    }),
  },
  hls: {
    segmentSeconds: integer({
      default: 2,
      min: 1,
      max: 10,
      about: 'The minimum length of a segment, in seconds; it ends at the next keyframe.',
    }),
    listSegments: integer({
      live: true,
      default: 6,
      min: 3,
      max: 60,
      about: 'The number of segments in a playlist; Sluice keeps all of them in memory.',
    }),
    lowLatency: toggle({
      default: true,
      about: 'Adds parts of 0.35 to 1 second to playlists, for players with low-latency HLS.',
    }),
    maxStreams: integer({
      live: true,
      default: 16,
      min: 1,
      max: 1024,
      about:
        'The most feeds that are packaged for HLS at a time, of several accounts three quarters for each; one with other codecs than ' +
        'H.264 and AAC needs ffmpeg.',
    }),
    idleSeconds: integer({
      live: true,
      default: 30,
      min: 1,
      max: 3600,
      about: 'How long Sluice packages a feed after the last request for it, in seconds.',
    }),
    sessionSeconds: integer({
      live: true,
      default: 20,
      min: 6,
      max: 3600,
      about: 'How long after its last request an HLS viewer counts as gone, in seconds; at least three segments.',
    }),
    refuseSharedTickets: toggle({
      live: true,
      default: true,
      about: 'Ends an HLS session whose address is in use by more players than one.',
    }),
    reportingCaches: list({
      live: true,
      default: [],
      allowed: 'IPv4 or IPv6 addresses and networks, such as 10.0.0.0/8',
      rule: addressOrNetwork,
      about:
        'Caches in `server.trustedProxies` that report the bytes of their logs with `sluice cache-log`; Sluice counts ' +
        'those, and not what it sends to them.',
    }),
  },
  recordings: {
    dir: text({
      default: '',
      allowed: 'empty, or a path',
      about: 'The directory of recordings; empty means `<data.dir>/recordings`.',
    }),
    minFreeMegabytes: integer({
      live: true,
      default: 1024,
      min: 0,
      max: 1_000_000_000,
      about: 'The disk space that recordings leave free, in megabytes; with less, recording stops.',
    }),
  },
  thumbnails: {
    everySeconds: integer({
      live: true,
      default: 30,
      min: 1,
      max: 3600,
      about: 'The interval between thumbnails of a feed whose token has `enableThumbnails`, in seconds.',
    }),
  },
} as const
