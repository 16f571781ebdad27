import { type RtpCodec, rtpName } from '../../../codecs/codecs.ts'
import { type HostAddress, candidateLines } from './candidate.ts'
import type { ChosenCodec } from './choose.ts'
import type { SdpOffer } from './offer.ts'
import type { OfferedMedia } from './media.ts'

/** Header extensions that may be agreed upon. */
export const EXTENSION = {
  mid: 'urn:ietf:params:rtp-hdrext:sdes:mid',
  rid: 'urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id',
  repairedRid: 'urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id',
  transportCc: 'http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01',
  audioLevel: 'urn:ietf:params:rtp-hdrext:ssrc-audio-level',
  absSendTime: 'http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time',
} as const

/** The id that the offer gave to an extension; null when it does not have it. Ids above 14 need the two-byte form. */
export const extensionId = (media: OfferedMedia, uri: string): number | null =>
  media.extensions.find((extension) => extension.uri === uri)?.id ?? null

/** Our side of the transport. */
export interface AnswerTransport {
  readonly iceUfrag: string
  readonly icePwd: string
  /** SHA-256 of our certificate, as `a=fingerprint` writes it. */
  readonly fingerprint: string
  /** Decimal digits, unique (RFC 8866 section 5.2). */
  readonly sdpId: string
  readonly hosts: readonly HostAddress[]
  /** Offer congestion control by transport-wide feedback; else it is left out of the answer. */
  readonly transportCc: boolean
}

/** How one m-line is answered; null rejects it (port 0). */
export type AnsweredMedia = AnsweredLine | null

export type AnsweredLine = AnsweredPublish | AnsweredView | AnsweredIdle

export interface AnsweredPublish {
  readonly direction: 'recvonly'
  readonly chosen: ChosenCodec
  /** Layers of simulcast that are taken: `rids` of the offer or some of them; empty for none. */
  readonly rids: readonly string[]
}

export interface AnsweredView extends SdpStream {
  readonly direction: 'sendonly'
  readonly chosen: ChosenCodec
}

/** What a line sends. */
export interface SdpStream {
  readonly ssrc: number
  /** Null when no retransmissions are sent; their payload type is left out then. */
  readonly rtxSsrc: number | null
  readonly cname: string
  readonly streamId: string
  readonly trackId: string
}

/**
 * Accepted, but nothing flows: a viewer's line of a medium that the stream does not have. aiortc never connects when the first
 * line is rejected, because each line then has a transport of its own.
 */
export interface AnsweredIdle {
  readonly direction: 'inactive'
  readonly chosen: ChosenCodec
}

/** What receivers report by RTCP. */
export const FEEDBACK = ['nack', 'nack pli', 'ccm fir', 'goog-remb', 'transport-cc']
const PUBLISH_EXTENSIONS: readonly string[] = Object.values(EXTENSION)
const VIEW_EXTENSIONS: readonly string[] = [EXTENSION.mid, EXTENSION.transportCc, EXTENSION.absSendTime]

/**
 * The answer of an ICE-lite server, passive in DTLS unless the offer is (RFC 8829 section 5.3, RFC 9725 section 4.4): one entry of
 * `answers` for each m-line of the offer, in its order. All that is accepted is bundled on the one transport.
 */
export function buildAnswer(offer: SdpOffer, transport: AnswerTransport, answers: readonly AnsweredMedia[]): string {
  const accepted = offer.media.filter((_, index) => hasAnswer(answers[index]))
  const tagged = accepted[0]
  const setup = offer.dtlsRole === 'client' ? 'active' : 'passive'
  const lines = [
    'v=0',
    `o=- ${transport.sdpId} 1 IN IP4 127.0.0.1`,
    's=-',
    't=0 0',
    'a=ice-lite',
    ...(offer.isBundled ? [`a=group:BUNDLE${accepted.map(({ mid }) => ` ${mid}`).join('')}`] : []),
    'a=extmap-allow-mixed',
    'a=msid-semantic: WMS *',
    ...offer.media.flatMap((media, index) => {
      const answer = answers[index]
      return hasAnswer(answer)
        ? acceptedLines(media, answer, { ...transport, setup }, media === tagged)
        : rejectedLines(media, { ...transport, setup })
    }),
  ]
  return `${lines.join('\r\n')}\r\n`
}

const hasAnswer = (answer: AnsweredMedia | undefined): answer is AnsweredLine => answer !== undefined && answer !== null

/**
 * Port 0 and the formats of the offer (RFC 3264 section 6). The rest means nothing there, but aiortc takes no answer in which
 * an m-line has none of it.
 */
const rejectedLines = ({ media, protocol, formats, mid, kind }: OfferedMedia, transport: LineTransport): string[] => [
  `m=${media} 0 ${protocol} ${formats.join(' ')}`,
  'c=IN IP4 0.0.0.0',
  'a=inactive',
  ...(mid === '' ? [] : [`a=mid:${mid}`]),
  ...transportLines(transport),
  ...(kind === 'other' ? [] : ['a=rtcp-mux']),
]

/** With our role in DTLS. */
type LineTransport = AnswerTransport & { readonly setup: 'active' | 'passive' | 'actpass' }

export const transportLines = ({ iceUfrag, icePwd, fingerprint, setup }: LineTransport): string[] => [
  `a=ice-ufrag:${iceUfrag}`,
  `a=ice-pwd:${icePwd}`,
  'a=ice-options:trickle ice2',
  `a=fingerprint:sha-256 ${fingerprint}`,
  `a=setup:${setup}`,
]

function acceptedLines(
  media: OfferedMedia,
  answer: AnsweredLine,
  transport: LineTransport,
  isTagged: boolean,
): string[] {
  const payloadTypes = [answer.chosen.codec.payloadType, rtxOf(answer)].filter((type) => type !== null)
  return [
    `m=${media.media} 9 ${media.protocol} ${payloadTypes.join(' ')}`,
    'c=IN IP4 0.0.0.0',
    ...(media.mid === '' ? [] : [`a=mid:${media.mid}`]),
    `a=${answer.direction}`,
    ...transportLines(transport),
    'a=rtcp-mux',
    ...(media.reducedSize ? ['a=rtcp-rsize'] : []),
    ...extensionLines(media, answer, transport.transportCc),
    ...codecLines(answer, transport.transportCc),
    ...directionLines(answer),
    // The candidates of a bundle belong to its first m-line (RFC 9143 section 7.1.3).
    ...(isTagged ? [...candidateLines(transport.hosts), 'a=end-of-candidates'] : []),
  ]
}

function directionLines(answer: AnsweredLine): string[] {
  if (answer.direction === 'recvonly') return simulcastLines(answer.rids)
  if (answer.direction === 'inactive') return []
  return streamLines(answer, answer.chosen.rtxPayloadType !== null)
}

/** Retransmissions that we send need a stream of their own; those that we receive only a payload type. */
const rtxOf = (answer: AnsweredLine): number | null =>
  answer.direction === 'sendonly' && answer.rtxSsrc === null ? null : answer.chosen.rtxPayloadType

function extensionLines(media: OfferedMedia, { direction }: AnsweredLine, transportCc: boolean): string[] {
  const ours = direction === 'recvonly' ? PUBLISH_EXTENSIONS : VIEW_EXTENSIONS
  return media.extensions
    .filter(({ uri }) => ours.includes(uri) && (transportCc || uri !== EXTENSION.transportCc))
    .map(({ id, uri }) => `a=extmap:${id} ${uri}`)
}

function codecLines(answer: AnsweredLine, transportCc: boolean): string[] {
  const { codec, name } = answer.chosen
  const { payloadType, fmtpText: parameters } = codec
  const feedback = FEEDBACK.filter((kind) => codec.feedback.includes(kind) && (transportCc || kind !== 'transport-cc'))
  return formatLines({ codec: name, payloadType, rtx: rtxOf(answer), parameters }, codec, feedback)
}

/** One way to send a codec. */
export interface SdpFormat {
  readonly codec: RtpCodec
  readonly payloadType: number
  /** The payload type of its retransmissions; null: there are none. */
  readonly rtx: number | null
  /** What `a=fmtp` says of it; '' for nothing. */
  readonly parameters: string
}

export function formatLines(
  { codec, payloadType, rtx, parameters }: SdpFormat,
  { clockRate, channels }: { readonly clockRate: number; readonly channels: number },
  feedback: readonly string[],
): string[] {
  return [
    `a=rtpmap:${payloadType} ${rtpName(codec)}/${clockRate}${channels > 1 ? `/${channels}` : ''}`,
    ...(parameters === '' ? [] : [`a=fmtp:${payloadType} ${parameters}`]),
    ...feedback.map((kind) => `a=rtcp-fb:${payloadType} ${kind}`),
    ...(rtx === null ? [] : [`a=rtpmap:${rtx} rtx/${clockRate}`, `a=fmtp:${rtx} apt=${payloadType}`]),
  ]
}

const simulcastLines = (rids: readonly string[]): string[] =>
  rids.length === 0 ? [] : [...rids.map((rid) => `a=rid:${rid} recv`), `a=simulcast:recv ${rids.join(';')}`]

/** `hasRtxType`: there is a payload type for retransmissions. */
export function streamLines({ ssrc, rtxSsrc, cname, streamId, trackId }: SdpStream, hasRtxType: boolean): string[] {
  const hasRtx = rtxSsrc !== null && hasRtxType
  return [
    `a=msid:${streamId} ${trackId}`,
    ...(hasRtx ? [`a=ssrc-group:FID ${ssrc} ${rtxSsrc}`] : []),
    `a=ssrc:${ssrc} cname:${cname}`,
    ...(hasRtx ? [`a=ssrc:${rtxSsrc} cname:${cname}`] : []),
  ]
}
