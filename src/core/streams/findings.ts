import { isoTime } from '../../base/time.ts'
import { PROTOCOL_FACTS, type Protocol } from '../access/protocols.ts'
import type { SourceReading } from './source.ts'

/** What a finding is judged by. */
export interface SourceFacts {
  readonly protocol: Protocol
  readonly source: SourceReading
}

/** How people read a value. */
type Unit = 'ms' | 'share' | 'hertz' | 'rate' | 'times'

interface FindingRow {
  readonly unit: Unit
  /** A value beyond it is found. */
  readonly threshold: number
  /** The value, if it is beyond the threshold; null: nothing is wrong, or it is not known. */
  readonly find: (facts: SourceFacts, threshold: number) => number | null
  /** What is wrong, and what it means for viewers. `{value}`, `{declared}` and `{profile}` are filled in. */
  readonly text: string
  /** What to set, in which encoder. */
  readonly advice: string
}

/** @param of the value @param isBeyond of value and threshold; default: it is greater */
const figure =
  (of: (source: SourceReading) => number | undefined, isBeyond = (value: number, limit: number) => value > limit) =>
  ({ source }: SourceFacts, threshold: number): number | null => {
    const value = of(source)
    return value !== undefined && isBeyond(value, threshold) ? value : null
  }

/** Profiles of H.264 and HEVC that browsers and phones decode. Others have more colour or depth, for studios. */
const PLAYED = new Set([
  'Constrained Baseline',
  'Baseline',
  'Main',
  'Extended',
  'High',
  'Main 10',
  'Main Still Picture',
])

/**
 * Everything that Sluice finds wrong with the media of a publisher, the worst first. The one table: the interface, the command
 * line, webhooks and the page follow from it. `docs/guides/stream-health.md` has a heading for each code.
 */
export const FINDINGS = {
  /** Keeping up means to lose nothing in a minute. OBS drops frames from 0.7 to 0.9 s on, so that more never was one of its pauses. */
  link_slow: {
    unit: 'ms',
    threshold: 1500,
    find: figure(({ behindMs }) => behindMs),
    text:
      'Media arrives {value} later than it did: the connection of the encoder is too slow for its ' +
      'bitrate. Viewers see it stop.',
    advice:
      'Set a lower bitrate, at most three quarters of what the connection uploads. In OBS: ' +
      'Settings, Output, Video Bitrate. ffmpeg: -b:v with -maxrate and -bufsize.',
  },
  /** draft-ietf-rmcat-gcc section 6: below 2% senders take loss for normal. */
  packet_loss: {
    unit: 'share',
    threshold: 0.02,
    find: figure(({ packetLoss }) => packetLoss),
    text:
      '{value} of the packets are lost on their way here. Pictures are damaged, or stand still until ' +
      'what is missing has come again.',
    advice: 'Use a cable rather than Wi-Fi, or a lower bitrate. Over SRT set a latency of four round trips.',
  },
  /** One in a thousand is a damaged picture every few seconds. */
  latency_short: {
    unit: 'share',
    threshold: 0.001,
    find: figure(({ packetsGivenUp }) => packetsGivenUp),
    text: '{value} of the packets do not come again in time, and are missing from the picture.',
    advice:
      'Set a longer latency: four round trips at least. In OBS and ffmpeg: latency in the address, ' +
      'in microseconds, such as latency=500000.',
  },
  /** A clock is set once, at a start. */
  clock_jumps: {
    unit: 'times',
    threshold: 0,
    find: figure(({ clockJumps }) => clockJumps),
    text:
      'The timestamps jump, go back or stand still: {value} in the last minute. Players stop, or play unevenly or ' +
      'too fast.',
    advice:
      'Take the times from one clock. ffmpeg: -use_wallclock_as_timestamps 1 for the input, or ' +
      '-fflags +genpts. A camera: set its NTP server.',
  },
  /** ITU-R BT.1359 accepts sound up to 90 ms early and 185 ms late. Well interleaved media is up to 300 ms apart as it comes. */
  audio_video_skew: {
    unit: 'ms',
    threshold: 500,
    find: figure(
      ({ skewMs }) => skewMs,
      (value, limit) => Math.abs(value) > limit,
    ),
    text:
      'Sound and picture of the same time arrive {value} apart. Lips do not match, or players wait ' +
      'for the later one.',
    advice:
      'Give both the same clock and delay. In OBS: Advanced Audio Properties, Sync Offset 0. ' +
      'ffmpeg: -af aresample=async=1, and no -itsoffset.',
  },
  /** Studios send it, and no browser decodes it. */
  video_profile: {
    unit: 'times',
    threshold: 0,
    find: ({ source: { videoProfile } }) => (videoProfile === undefined || PLAYED.has(videoProfile) ? null : 1),
    text: 'The video has the profile {profile}, which browsers and phones do not decode.',
    advice:
      'Send High, with 8 bits and 4:2:0. In OBS: Settings, Advanced, Color Format NV12, and Output, ' +
      'Profile high. ffmpeg: -pix_fmt yuv420p -profile:v high.',
  },
  /** Twice what the HLS Authoring Specification of Apple demands (section 1.10). */
  keyframe_interval: {
    unit: 'ms',
    threshold: 4000,
    find: (facts, limit) =>
      PROTOCOL_FACTS[facts.protocol].keyframesOnRequest
        ? null
        : figure(({ longestKeyframeMs }) => longestKeyframeMs)(facts, limit),
    text: 'Keyframe every {value}: viewers wait up to {value} for their first picture, and HLS is as late.',
    advice: 'Set 2 s. In OBS: Settings, Output, Advanced, Keyframe Interval 2 s. ffmpeg: -g with twice the frame rate.',
  },
  /** Six requests: one is sent every half second. A publisher that answers sends a keyframe within a round trip. */
  keyframe_requests: {
    unit: 'ms',
    threshold: 3000,
    find: figure(({ keyframeWaitMs }) => keyframeWaitMs),
    text: 'Sluice asks for a keyframe, and waits {value}: so long new viewers have no picture, and HLS is as late.',
    advice:
      'The encoder does not answer requests (PLI). Set a keyframe every 2 s. In OBS: Settings, Output, Advanced, ' +
      'Keyframe Interval 2 s. ffmpeg: -g with twice the frame rate.',
  },
  /** A fifth of the frames: an encoder that is overloaded leaves out as many and more. */
  frame_rate: {
    unit: 'rate',
    threshold: 0.8,
    find: ({ source: { sentFrameRate: sent, declaredFrameRate: declared } }, threshold) =>
      sent !== undefined && declared !== undefined && sent < declared * threshold ? sent : null,
    text:
      '{value} frames a second come, where the video says {declared}. The computer of the encoder ' +
      'is overloaded, or drops frames.',
    advice:
      'Set a faster preset, a smaller size, or the encoder of the graphics card. In OBS: Settings, ' +
      'Output, Encoder, and View, Stats for what is dropped.',
  },
  /** A second without a picture, at any usual rate. */
  video_gaps: {
    unit: 'times',
    threshold: 0,
    find: (facts, limit) =>
      PROTOCOL_FACTS[facts.protocol].keyframesOnRequest ? null : figure(({ videoGaps }) => videoGaps)(facts, limit),
    text: 'The video stood still for a second or more, {value} in the last minute.',
    advice:
      'Look at the source: a capture device, a paused player. In OBS: View, Stats shows frames that ' +
      'it misses or drops.',
  },
  /** Long enough for no pause in speech to be one: those have noise. */
  audio_silent: {
    unit: 'ms',
    threshold: 8000,
    find: figure(({ silentMs }) => silentMs),
    text: 'No sound at all for {value}: the source is muted, or its device is missing.',
    advice: 'In OBS: the Audio Mixer, and Settings, Audio for the device. ffmpeg: the input of -map, and its volume.',
  },
  /** One packet in twenty: a single loud beat is none. */
  audio_clipped: {
    unit: 'share',
    threshold: 0.05,
    find: figure(({ clippedAudio }) => clippedAudio),
    text: '{value} of the sound is too loud to be without distortion: its peaks are cut off.',
    advice:
      'Lower the level of the source. In OBS: the Audio Mixer, so that it stays below red. ffmpeg: -af volume=-6dB.',
  },
  /** The least that carries 15 kHz, as FM radio does. Telephones have 8 kHz. */
  audio_rate: {
    unit: 'hertz',
    threshold: 32_000,
    find: figure(
      ({ sampleRate }) => sampleRate,
      (value, limit) => value < limit,
    ),
    text: 'The sound has a sample rate of {value}, and sounds like a telephone.',
    advice:
      'Set 48 kHz. In OBS: Settings, Audio, Sample Rate 48 kHz. ffmpeg: -ar 48000. A camera: AAC rather than G.711.',
  },
  /** One in a hundred frames: none of a publisher that is set right. */
  b_frames: {
    unit: 'share',
    threshold: 0.01,
    find: figure(({ bFrames }) => bFrames),
    text: '{value} of the frames are B-frames. WebRTC has none: Sluice encodes the video again for viewers over WHEP.',
    advice: 'Turn them off. In OBS: Settings, Output, Max B-frames 0, or Tune zerolatency. ffmpeg: -bf 0.',
  },
} as const satisfies Record<string, FindingRow>

export type FindingCode = keyof typeof FINDINGS

export const FINDING_CODES = Object.keys(FINDINGS) as readonly FindingCode[]

/** A finding as a node keeps it. */
export interface Found {
  readonly code: FindingCode
  readonly value: number
  /** Epoch milliseconds. */
  readonly sinceMs: number
}

/** A finding as the interface shows it. */
export interface SourceFinding {
  readonly code: FindingCode
  readonly since: string
  /** In the unit of the figure that it is about. */
  readonly value: number
  readonly threshold: number
  /** The value as people read it. */
  readonly shown: string
  readonly text: string
  readonly advice: string
  /** The page about it, from the root of the documents. */
  readonly docs: string
}

export const docsOf = (code: FindingCode): string => `guides/stream-health.md#${code.replaceAll('_', '-')}`

/** A finding stays for a while after its figure has gone. */
const UNKNOWN = '?'

export function findingOf({ code, value, sinceMs }: Found, source: SourceReading): SourceFinding {
  const { threshold, text, advice, unit } = FINDINGS[code]
  const shown = shownAs(unit, value)
  const filled = text
    .replaceAll('{value}', shown)
    .replace('{declared}', String(source.declaredFrameRate ?? UNKNOWN))
    .replace('{profile}', source.videoProfile ?? UNKNOWN)
  return {
    code,
    since: isoTime(sinceMs),
    value,
    threshold,
    shown,
    text: filled,
    advice,
    docs: docsOf(code),
  }
}

function shownAs(unit: Unit, value: number): string {
  switch (unit) {
    case 'ms':
      return lengthShown(Math.abs(value))
    case 'share':
      return `${(value * 100).toFixed(1).replace(/\.0$/, '')}%`
    case 'hertz':
      return `${(value / 1000).toFixed(1).replace(/\.0$/, '')} kHz`
    case 'rate':
      return value.toFixed(1).replace(/\.0$/, '')
    case 'times':
      return `${value} ×`
  }
}

/** In minutes where seconds would be a number of three digits, also by rounding. */
const lengthShown = (ms: number): string =>
  ms < 99_950 ? `${(ms / 1000).toFixed(1).replace(/\.0$/, '')} s` : `${Math.round(ms / 60_000)} min`

export function isFindingCode(text: unknown): text is FindingCode {
  return typeof text === 'string' && Object.hasOwn(FINDINGS, text)
}

/** What is wrong at one look, by code. */
const seenIn = (facts: SourceFacts): ReadonlyMap<FindingCode, number> =>
  new Map(
    FINDING_CODES.flatMap((code) => {
      const row: FindingRow = FINDINGS[code]
      const value = row.find(facts, row.threshold)
      return value === null ? [] : [[code, value] as const]
    }),
  )

interface Watched {
  readonly sinceMs: number
  readonly looks: number
  readonly value: number
  readonly seenAtMs: number
}

/** A finding counts when this many looks in a row see it, and until it was not seen for `CLEAR_MS`: so that none comes and goes. */
const LOOKS = 2
const CLEAR_MS = 10_000

/** The findings of one feed over time. */
export class FindingWatch {
  readonly #watched = new Map<FindingCode, Watched>()

  /** @param nowMs epoch milliseconds @param monotonicMs of the look */
  look(facts: SourceFacts, nowMs: number, monotonicMs: number): void {
    const seen = seenIn(facts)
    for (const [code, { looks, seenAtMs }] of this.#watched) {
      const isOver = looks < LOOKS || monotonicMs - seenAtMs >= CLEAR_MS
      if (isOver && !seen.has(code)) this.#watched.delete(code)
    }
    for (const [code, value] of seen) {
      const { sinceMs = nowMs, looks = 0 } = this.#watched.get(code) ?? {}
      this.#watched.set(code, { sinceMs, looks: looks + 1, value, seenAtMs: monotonicMs })
    }
  }

  /** In the order of the table. */
  found(): Found[] {
    return FINDING_CODES.flatMap((code) => {
      const watched = this.#watched.get(code)
      return watched === undefined || watched.looks < LOOKS
        ? []
        : [{ code, value: watched.value, sinceMs: watched.sinceMs }]
    })
  }
}
