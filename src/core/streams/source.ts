import { isObject } from '../../base/objects.ts'

/**
 * What is measured of the media of a publisher where it comes in. The one list: types, schemas, stored readings, the command
 * line and documents follow from it.
 */
export const SOURCE_FIGURES = {
  declaredFrameRate: 'Frames per second that the video says it has (H.264 annex E).',
  sentFrameRate: 'Frames per second by the clock of the publisher, in the last ten seconds.',
  unevenFrames: 'Share of frames, from 0 to 1, that come half a step and more too late, in the last ten seconds.',
  keyframeMs: 'Time between the last two keyframes, or since the last one if that is longer.',
  longestKeyframeMs: 'The longest such time in the last minute.',
  keyframeWaitMs:
    'How long frames came after Sluice had asked for a keyframe, until it came: the longest in the last minute. WHIP.',
  bFrames: 'Share of frames that are shown before one that was sent earlier, in the last ten seconds.',
  videoGaps: 'How often the video missed a second or more, in the last minute.',
  sampleRate: 'Of the audio, hertz.',
  channels: 'Of the audio.',
  silentMs:
    'How long the audio has had no sound at all; 0: it has some. Absent for codecs that do not show it cheaply.',
  audioLevelDb:
    'The loudest packet of audio in the last ten seconds, in decibels of the loudest there is (RFC 6464). WHIP; WHEP where told.',
  clippedAudio:
    'Share of audio, from 0 to 1, louder than any tone can be without distortion, in the last ten seconds. As for `audioLevelDb`.',
  skewMs: 'How much later the audio comes than the video of the same time; negative: earlier.',
  behindMs: 'How much later media comes than at its best in the last minute.',
  clockJumps:
    'How often the clock of the publisher was set, in the last minute. Seconds in which its timestamps stand still or go back count.',
  packetLoss: 'Share of packets, from 0 to 1, that did not come at first, in the last ten seconds. WHIP, SRT and RTSP.',
  packetsGivenUp: 'Share of packets that did not come again in time either, in the last ten seconds. SRT.',
  jitterMs: 'How unevenly packets come (RFC 3550 section 6.4.1). WHIP.',
  roundTripMs: 'To the publisher and back. WHIP: known when a lost packet has come again.',
  layers: 'Layers of the video that come now, where there are several. WHIP, enhanced RTMP.',
} as const satisfies Record<string, string>

export type SourceFigure = keyof typeof SOURCE_FIGURES

/** Absent: not known, or not part of the broadcast. */
export type SourceReading = { readonly [F in SourceFigure]?: number } & {
  /** As `High 4:4:4 Predictive`. */
  readonly videoProfile?: string
  /** As `4.1`. */
  readonly videoLevel?: string
}

export const SOURCE_TEXTS = {
  videoProfile: 'Of H.264 and HEVC, such as `High`.',
  videoLevel: 'Of H.264 and HEVC, such as `4.1`.',
} as const satisfies { readonly [K in Exclude<keyof SourceReading, SourceFigure>]: string }

/** One that a node stored, perhaps one of another version: what is missing is not known. */
export function readStoredSource(stored: unknown): SourceReading {
  if (!isObject(stored)) return {}
  const isOurs = ([name, value]: [string, unknown]): boolean =>
    name in SOURCE_FIGURES ? Number.isFinite(value) : name in SOURCE_TEXTS && typeof value === 'string'
  return Object.fromEntries(Object.entries(stored).filter(isOurs))
}
