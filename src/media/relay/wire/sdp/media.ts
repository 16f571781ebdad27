import { ok, type Result } from '../../../../base/result.ts'
import { type Candidate, parseCandidate } from './candidate.ts'
import { attributesOf, first, has, malformed, type SdpRefusal, type SdpSection } from './lines.ts'

/** One m-line of an offer. */
export interface OfferedMedia {
  readonly mid: string
  /** What is neither audio nor video over SAVPF (a data channel, for one) can only be rejected. */
  readonly kind: 'audio' | 'video' | 'other'
  /** `m=` without its port, to be repeated by the answer: media, protocol, formats. */
  readonly media: string
  readonly protocol: string
  readonly formats: readonly string[]
  /** In the bundle and not switched off: may be accepted. */
  readonly isOpen: boolean
  readonly direction: 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive'
  /** In the order of preference of the offer, with their RTX. */
  readonly codecs: readonly OfferedCodec[]
  readonly extensions: readonly OfferedExtension[]
  /** The layers of simulcast that it offers to send, in its order; empty without simulcast (RFC 8853, RFC 8851). */
  readonly rids: readonly string[]
  /** Media stream and its RTX stream (`a=ssrc-group:FID`, RFC 5576). */
  readonly rtxPairs: readonly { readonly media: number; readonly rtx: number }[]
  readonly reducedSize: boolean
  readonly candidates: readonly Candidate[]
}

export interface OfferedCodec {
  readonly payloadType: number
  /** Lower case. */
  readonly name: string
  readonly clockRate: number
  readonly channels: number
  /** As it was written, to be repeated. */
  readonly fmtpText: string
  /** Names in lower case. */
  readonly fmtp: ReadonlyMap<string, string>
  /** `nack`, `nack pli`, `goog-remb`, … with those for all payload types. */
  readonly feedback: readonly string[]
}

export interface OfferedExtension {
  readonly id: number
  readonly uri: string
}

const MAX_CODECS = 128
const MAX_EXTENSIONS = 32
const MAX_RIDS = 8
const MAX_RTX_PAIRS = 64
const MAX_CANDIDATES = 64
const EXAMPLE = 'm=video 9 UDP/TLS/RTP/SAVPF 96'
const DIRECTIONS = ['sendrecv', 'sendonly', 'recvonly', 'inactive'] as const

/** Reads a section. `isBundled`: whether the BUNDLE group names it. `number`: of its m-line, from 1. */
export function readMedia(section: SdpSection, isBundled: boolean, number = 1): Result<OfferedMedia, SdpRefusal> {
  const match = /^([a-z]{1,32}) (\d{1,5})(?:\/\d+)? (\S{1,64})((?: \S{1,64}){1,256})$/.exec(section.media)
  const mid = first(section, 'mid') ?? ''
  if (match === null) return malformed(`The offer has a malformed m-line ${number}; it must be like "${EXAMPLE}".`)
  const [, name, port, protocol = '', formats = ''] = match
  const isMedia = (name === 'audio' || name === 'video') && /^(UDP|TCP)\/TLS\/RTP\/SAVPF$/.test(protocol)
  // Port 0 without bundle-only is a line that was rejected or switched off (RFC 9143 section 6).
  const isOpen = isBundled && (port !== '0' || has(section, 'bundle-only'))
  if (isMedia && isOpen && !has(section, 'rtcp-mux'))
    return malformed(`The offer has no a=rtcp-mux in m-line ${number} (${name}); audio and video need it.`)
  return ok({
    mid,
    kind: isMedia ? name : 'other',
    media: name ?? '',
    protocol,
    formats: formats.trim().split(' '),
    isOpen,
    direction: DIRECTIONS.find((direction) => has(section, direction)) ?? 'sendrecv',
    codecs: isMedia ? readCodecs(section, formats.trim().split(' ')) : [],
    extensions: readExtensions(section),
    rids: readRids(section),
    rtxPairs: readRtxPairs(section),
    reducedSize: has(section, 'rtcp-rsize'),
    candidates: attributesOf(section, 'candidate')
      .slice(0, MAX_CANDIDATES)
      .map(parseCandidate)
      .filter((one) => one !== null),
  })
}

/** Static payload types that we serve (RFC 3551 section 6): they need no rtpmap. */
const STATIC: Readonly<Record<string, string>> = { 0: 'PCMU/8000', 8: 'PCMA/8000' }

/** Those with an rtpmap, or a payload type that needs none, in the order of the m-line. */
function readCodecs(section: SdpSection, formats: readonly string[]): OfferedCodec[] {
  const maps = byPayloadType(attributesOf(section, 'rtpmap'))
  const fmtps = byPayloadType(attributesOf(section, 'fmtp'))
  const feedback = attributesOf(section, 'rtcp-fb').map(splitAtSpace)
  return [...new Set(formats)].slice(0, MAX_CODECS).flatMap((format) => {
    const payloadType = /^\d{1,3}$/.test(format) ? Number(format) : 128
    const match = /^([\w.-]{1,32})\/(\d{1,6})(?:\/(\d{1,2}))?$/.exec(maps.get(format) ?? STATIC[format] ?? '')
    if (match === null || payloadType > 127) return []
    const fmtpText = fmtps.get(format) ?? ''
    return {
      payloadType,
      name: (match[1] ?? '').toLowerCase(),
      clockRate: Number(match[2]),
      channels: Number(match[3] ?? 1),
      fmtpText,
      fmtp: readParameters(fmtpText),
      feedback: feedback.filter(([type]) => type === format || type === '*').map(([, value]) => value),
    }
  })
}

function splitAtSpace(text: string): [string, string] {
  const space = text.indexOf(' ')
  return space < 0 ? [text, ''] : [text.slice(0, space), text.slice(space + 1).trim()]
}

/** The first value of each payload type. */
function byPayloadType(values: readonly string[]): Map<string, string> {
  return new Map(values.map(splitAtSpace).reverse())
}

const readParameters = (text: string): Map<string, string> =>
  new Map(
    text.split(';').map((parameter): [string, string] => {
      const [name = '', ...value] = parameter.trim().split('=')
      return [name.toLowerCase(), value.join('=')]
    }),
  )

/** RFC 8285 section 8; one that is switched off in the direction of the offer is left out. */
function readExtensions(section: SdpSection): OfferedExtension[] {
  return attributesOf(section, 'extmap')
    .slice(0, MAX_EXTENSIONS)
    .flatMap((value) => {
      const match = /^(\d{1,3})(?:\/(\w+))? (\S{1,255})/.exec(value)
      const id = Number(match?.[1] ?? 0)
      return match === null || id < 1 || id > 255 || match[2] === 'inactive' ? [] : [{ id, uri: match[3] ?? '' }]
    })
}

/**
 * `a=simulcast:send h;m,n;~l` names them in order; alternatives count by their first, a paused one counts. Drafts before
 * RFC 8853 wrote `a=simulcast: send rid=h;m;l`.
 */
function readRids(section: SdpSection): string[] {
  const declared = new Set(
    attributesOf(section, 'rid').flatMap((value) => /^([A-Za-z0-9_-]{1,32}) send(?: |$)/.exec(value)?.[1] ?? []),
  )
  const list = /(?:^| )send (\S+)/.exec(first(section, 'simulcast') ?? '')?.[1] ?? ''
  const names = list
    .replace(/^rid=/, '')
    .split(';')
    .map((layer) => (layer.split(',')[0] ?? '').replace(/^~/, ''))
  return [...new Set(names)].filter((name) => declared.has(name)).slice(0, MAX_RIDS)
}

const isSsrc = (text: string): boolean => /^\d{1,10}$/.test(text) && Number(text) <= 0xffffffff

const readRtxPairs = (section: SdpSection): { media: number; rtx: number }[] =>
  attributesOf(section, 'ssrc-group')
    .slice(0, MAX_RTX_PAIRS)
    .flatMap((value) => {
      const [semantics, media = '', rtx = ''] = value.split(' ')
      return semantics === 'FID' && isSsrc(media) && isSsrc(rtx) ? [{ media: Number(media), rtx: Number(rtx) }] : []
    })
