import { isVideoCodec, rtpAudioFormat, type RtpCodec } from '../../../codecs/codecs.ts'
import {
  type AnswerTransport,
  EXTENSION,
  FEEDBACK,
  formatLines,
  type SdpFormat,
  type SdpStream,
  streamLines,
  transportLines,
} from './answer.ts'
import { candidateLines } from './candidate.ts'
import { HEVC_MAIN_10 } from './format.ts'

/** An m-line of an offer of ours. */
export interface OfferLine {
  readonly kind: 'audio' | 'video'
  /** The most wanted first. */
  readonly formats: readonly SdpFormat[]
  /** Null: it receives. */
  readonly sends: SdpStream | null
}

const OPUS_TYPE = 120
export const OPUS_FORMAT: SdpFormat = {
  codec: 'opus',
  payloadType: OPUS_TYPE,
  rtx: null,
  parameters: 'minptime=10;useinbandfec=1',
}

/** @param at an even number from 96 on; retransmissions have the next one */
export const videoFormat = (codec: RtpCodec, at: number, parameters: string): SdpFormat => ({
  codec,
  payloadType: at,
  rtx: at + 1,
  parameters,
})

/** @param profile `profile-level-id` */
export const h264Parameters = (profile: string): string =>
  `level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=${profile}`

/** Servers give a viewer what the stream has, and compare profiles: constrained baseline, baseline, main, high. */
const H264_PROFILES = ['42e01f', '42001f', '4d001f', '64001f']
const HEVC_PROFILES = ['', `profile-id=${HEVC_MAIN_10}`]

/** What a stream can be made of, in one m-line for each medium. */
export const RECEIVED_LINES: readonly OfferLine[] = [
  { kind: 'audio', formats: [OPUS_FORMAT], sends: null },
  {
    kind: 'video',
    formats: [
      ...H264_PROFILES.map((profile) => ['h264', h264Parameters(profile)] as const),
      ['vp8', ''] as const,
      ['vp9', 'profile-id=0'] as const,
      ['av1', ''] as const,
      ...HEVC_PROFILES.map((parameters) => ['hevc', parameters] as const),
    ].map(([codec, parameters], at) => videoFormat(codec, 96 + 2 * at, parameters)),
    sends: null,
  },
]

/** Those that a sender of ours does not write are left out of what it offers. */
const EXTENSIONS = [
  { id: 1, uri: EXTENSION.mid, kinds: ['audio', 'video'] },
  { id: 2, uri: EXTENSION.transportCc, kinds: ['audio', 'video'] },
  { id: 3, uri: EXTENSION.audioLevel, kinds: ['audio'] },
]

/** An offer of WHIP or WHEP (RFC 9725 section 4.4): all of it bundled, and with our candidates, so that none trickle. */
export function buildOffer(transport: AnswerTransport, lines: readonly OfferLine[]): string {
  const text = [
    'v=0',
    `o=- ${transport.sdpId} 1 IN IP4 127.0.0.1`,
    's=-',
    't=0 0',
    `a=group:BUNDLE${lines.map((_, mid) => ` ${mid}`).join('')}`,
    'a=extmap-allow-mixed',
    'a=msid-semantic: WMS *',
    ...lines.flatMap((line, mid) => linesOf(line, mid, transport)),
  ]
  return `${text.join('\r\n')}\r\n`
}

function linesOf({ kind, formats, sends }: OfferLine, mid: number, transport: AnswerTransport): string[] {
  const types = formats.flatMap(({ payloadType, rtx }) => (rtx === null ? [payloadType] : [payloadType, rtx]))
  const [first] = formats
  return [
    `m=${kind} 9 UDP/TLS/RTP/SAVPF ${types.join(' ')}`,
    'c=IN IP4 0.0.0.0',
    `a=mid:${mid}`,
    `a=${sends === null ? 'recvonly' : 'sendonly'}`,
    ...transportLines({ ...transport, setup: 'actpass' }),
    'a=rtcp-mux',
    'a=rtcp-rsize',
    ...(sends === null ? extensionLines(kind) : []),
    ...formats.flatMap((format) => codecLines(format, sends === null)),
    ...(sends === null ? [] : streamLines(sends, first?.rtx !== null)),
    // The candidates of a bundle belong to its first m-line (RFC 9143 section 7.1.3).
    ...(mid === 0 ? [...candidateLines(transport.hosts), 'a=end-of-candidates'] : []),
  ]
}

const extensionLines = (kind: OfferLine['kind']): string[] =>
  EXTENSIONS.filter(({ kinds }) => kinds.includes(kind)).map(({ id, uri }) => `a=extmap:${id} ${uri}`)

function codecLines(format: SdpFormat, receives: boolean): string[] {
  const { codec } = format
  const isVideo = isVideoCodec(codec)
  const rate = isVideo ? { clockRate: 90_000, channels: 1 } : rtpAudioFormat(codec)
  const feedback = FEEDBACK.filter((kind) => (kind === 'transport-cc' ? receives : isVideo))
  return formatLines(format, rate, feedback)
}
