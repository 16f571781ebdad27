import type { VideoCodec } from '../../../frame.ts'
import type { OfferedCodec, OfferedMedia } from './media.ts'

/** Which of the offered codecs an m-line is answered with. */
export interface ChosenCodec {
  readonly codec: OfferedCodec
  readonly name: VideoCodec | 'opus'
  /** The payload type of its retransmissions (RFC 4588); null when the offer has none. */
  readonly rtxPayloadType: number | null
}

/** What a viewer is to get. */
export interface WantedTrack {
  readonly codec: VideoCodec | 'opus'
  /** H.264: `profile-level-id` of what is sent, 6 hex digits; null when it is not known. */
  readonly profileLevelId: string | null
}

const VIDEO = ['h264', 'vp8', 'vp9', 'av1'] as const

/** The codec by the name that SDP gives it; `av1x` was AV1 before it was registered and is another format. */
const nameOf = (codec: OfferedCodec, kind: OfferedMedia['kind']): VideoCodec | 'opus' | null => {
  if (kind === 'audio')
    return codec.name === 'opus' && codec.clockRate === 48_000 && codec.channels === 2 ? 'opus' : null
  if (codec.clockRate !== 90_000) return null
  return VIDEO.find((name) => name === codec.name) ?? null
}

/**
 * For what a publisher will send: `wanted`, or the first known of the offer. H.264 needs packetization-mode=1; constrained
 * baseline goes before other profiles, because every viewer decodes it. VP9 only in profile 0, AV1 in profile main.
 */
export function chooseForPublisher(media: OfferedMedia, wanted: VideoCodec | null): ChosenCodec | null {
  if (!media.isOpen || !media.direction.startsWith('send')) return null
  const usable = known(media).filter(({ name }) => media.kind === 'audio' || wanted === null || name === wanted)
  const chosen = usable[0]
  if (chosen?.name !== 'h264') return chosen ?? null
  return (
    usable.find(({ name, codec }) => name === 'h264' && profileOf(profileLevelId(codec)) === CONSTRAINED_BASELINE) ??
    chosen
  )
}

export const isReceiving = ({ isOpen, direction }: OfferedMedia): boolean =>
  isOpen && (direction === 'sendrecv' || direction === 'recvonly')

/** For what a viewer is sent; null when it does not take it. */
export function chooseForViewer(media: OfferedMedia, wanted: WantedTrack): ChosenCodec | null {
  if (!isReceiving(media)) return null
  const usable = known(media).filter(({ name }) => name === wanted.codec)
  if (wanted.codec !== 'h264' || wanted.profileLevelId === null) return usable[0] ?? null
  const sent = profileOf(wanted.profileLevelId)
  const rank = ({ codec }: ChosenCodec): number => suits(profileOf(profileLevelId(codec)), sent)
  // A decoder that names none that fits most often decodes it all the same; that is better than nothing to see.
  return usable.toSorted((a, b) => rank(a) - rank(b))[0] ?? null
}

const known = (media: OfferedMedia): ChosenCodec[] =>
  media.codecs.flatMap((codec) => {
    const name = nameOf(codec, media.kind)
    return name === null || !isServed(name, codec) ? [] : [{ codec, name, rtxPayloadType: rtxOf(media, codec) }]
  })

function isServed(name: VideoCodec | 'opus', { fmtp }: OfferedCodec): boolean {
  if (name === 'h264') return fmtp.get('packetization-mode') === '1'
  if (name === 'vp9') return (fmtp.get('profile-id') ?? '0') === '0'
  return name !== 'av1' || (fmtp.get('profile') ?? '0') === '0'
}

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
