import type { RtpCodec, VideoCodec } from '../../../codecs/codecs.ts'
import { type Flow, formatProblem, HEVC_MAIN_10, hevcProfileIdOf, modeOf, codecNameOf } from './format.ts'
import type { OfferedCodec, OfferedMedia } from './media.ts'

/** Which of the offered codecs an m-line is answered with. */
export interface ChosenCodec {
  readonly codec: OfferedCodec
  readonly name: RtpCodec
  /** The payload type of its retransmissions (RFC 4588); null when the offer has none. */
  readonly rtxPayloadType: number | null
}

/** A track that a viewer shall receive. */
export interface WantedTrack {
  readonly codec: RtpCodec
  /** Of what is sent. H.264: `profile-level-id`, 6 hex digits; HEVC: `profile-id`; null when it is not known. */
  readonly profile: string | null
}

/** The tracks that a stream has for viewers. */
export interface WantedTracks {
  readonly video: WantedTrack | null
  readonly audio: WantedTrack | null
}

/**
 * For what a publisher will send: `wanted`, or the first known of the offer. H.264 is taken in packetization mode 1 if that
 * is offered, and in constrained baseline before other profiles, because every viewer decodes it; Opus before G.711; HEVC
 * last, because few browsers have it.
 */
export function chooseForPublisher(media: OfferedMedia, wanted: VideoCodec | null): ChosenCodec | null {
  if (!media.isOpen || !isSending(media)) return null
  const usable = served(media, 'publish').filter(
    ({ name }) => media.kind === 'audio' || wanted === null || name === wanted,
  )
  const chosen = usable.find(({ name }) => name === 'opus') ?? usable.find(({ name }) => name !== 'hevc') ?? usable[0]
  if (chosen?.name !== 'h264') return chosen ?? null
  const rank = ({ codec }: ChosenCodec): number =>
    2 * modeRank(codec) + (profileOf(profileLevelId(codec)) === CONSTRAINED_BASELINE ? 0 : 1)
  return usable.filter(({ name }) => name === 'h264').toSorted((a, b) => rank(a) - rank(b))[0] ?? null
}

export const isSending = ({ direction }: OfferedMedia): boolean => direction === 'sendrecv' || direction === 'sendonly'

export const isReceiving = ({ direction }: OfferedMedia): boolean =>
  direction === 'sendrecv' || direction === 'recvonly'

/** For what a viewer is sent; null when it does not take it. */
export function chooseForViewer(media: OfferedMedia, wanted: WantedTrack): ChosenCodec | null {
  if (!media.isOpen || !isReceiving(media)) return null
  const usable = served(media, 'view').filter(({ name }) => name === wanted.codec)
  if (wanted.codec === 'hevc') return usable.find(({ codec }) => decodesHevc(codec, wanted.profile)) ?? null
  if (wanted.codec !== 'h264') return usable[0] ?? null
  const sent = wanted.profile === null ? null : profileOf(wanted.profile)
  // A decoder without a matching profile usually still decodes the stream, which is better than no video.
  const rank = ({ codec }: ChosenCodec): number =>
    2 * (sent === null ? 0 : suits(profileOf(profileLevelId(codec)), sent)) + modeRank(codec)
  return usable.toSorted((a, b) => rank(a) - rank(b))[0] ?? null
}

/** A decoder of main 10 has main as well; one of main shows nothing of main 10. */
const decodesHevc = (codec: OfferedCodec, sent: string | null): boolean =>
  sent === null || [sent, HEVC_MAIN_10].includes(hevcProfileIdOf(codec))

/** What a viewer's line of a medium that the stream does not have is accepted with; null for every other line. */
export function chooseIdle(media: OfferedMedia, { video, audio }: WantedTracks): ChosenCodec | null {
  if (media.kind === 'other' || !media.isOpen || !isReceiving(media)) return null
  return (media.kind === 'video' ? video : audio) === null ? (served(media, 'view')[0] ?? null) : null
}

/** The codecs of an m-line that we serve in this direction. */
const served = (media: OfferedMedia, flow: Flow): ChosenCodec[] =>
  media.codecs.flatMap((codec) => {
    const name = codecNameOf(codec, media.kind)
    if (name === null || formatProblem(codec, name, flow) !== null) return []
    return { codec, name, rtxPayloadType: rtxOf(media, codec) }
  })

const modeRank = (codec: OfferedCodec): 0 | 1 => (modeOf(codec) === '1' ? 0 : 1)

const rtxOf = (media: OfferedMedia, codec: OfferedCodec): number | null =>
  media.codecs.find(({ name, fmtp }) => name === 'rtx' && fmtp.get('apt') === String(codec.payloadType))?.payloadType ??
  null

/** RFC 6184 section 8.1: baseline of level 1 when it is left out. */
const profileLevelId = ({ fmtp }: OfferedCodec): string => fmtp.get('profile-level-id') ?? '42000a'

const CONSTRAINED_BASELINE = 0
const BASELINE = 1
const MAIN = 2
const HIGH = 3
const OTHER = 4
type Profile = typeof CONSTRAINED_BASELINE | typeof BASELINE | typeof MAIN | typeof HIGH | typeof OTHER

/** Table 5 of RFC 6184: the profile is its number together with the constraint flags. */
function profileOf(id: string): Profile {
  if (!/^[0-9a-fA-F]{6}$/.test(id)) return OTHER
  const profile = Number.parseInt(id.slice(0, 2), 16)
  const flags = Number.parseInt(id.slice(2, 4), 16)
  if (profile === 0x42) return (flags & 0x40) === 0 ? BASELINE : CONSTRAINED_BASELINE
  if (profile === 0x4d) return (flags & 0x80) === 0 ? MAIN : CONSTRAINED_BASELINE
  if (profile === 0x58) return (flags & 0xc0) === 0xc0 ? CONSTRAINED_BASELINE : OTHER
  return profile === 0x64 ? HIGH : OTHER
}

/** How well a decoder of `offered` suits a stream of `sent`: 0 the same, then what includes it, 9 not at all. */
function suits(offered: Profile, sent: Profile): number {
  if (offered === sent) return 0
  const includes: Readonly<Record<Profile, readonly Profile[]>> = {
    [CONSTRAINED_BASELINE]: [],
    [BASELINE]: [CONSTRAINED_BASELINE],
    [MAIN]: [CONSTRAINED_BASELINE],
    [HIGH]: [MAIN, CONSTRAINED_BASELINE],
    [OTHER]: [],
  }
  return includes[offered].includes(sent) ? offered : 9
}
