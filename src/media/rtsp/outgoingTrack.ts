import { profileLevelIdOf, readAvcConfig } from '../codecs/h264Config.ts'
import { hevcParameterSets, hevcType } from '../codecs/hevc.ts'
import { rtpAudioFormat, rtpName } from '../codecs/codecs.ts'
import { packetizer } from '../codecs/packetizer.ts'
import type { Frame, TrackInfo } from '../frame.ts'
import { ntpOf } from '../relay/wire/ntp.ts'
import { writeSdes, writeSenderReport } from '../relay/wire/rtcp/rtcp.ts'
import { writeRtpHeader } from '../relay/wire/rtp.ts'

/** Servers may send our packets on over UDP: they fit into its packets. */
const PAYLOAD_MAX = 1400
/** Static ones (RFC 3551 section 6); the others have one of their own. */
const STATIC_TYPES: Readonly<Partial<Record<string, number>>> = { pcmu: 0, pcma: 8 }
const FIRST_DYNAMIC_TYPE = 96
const VIDEO_RATE = 90_000
const DOLLAR = 0x24
const [DOLLAR_BYTES, RTP_BYTES] = [4, 12]

export interface OutgoingTrackOptions {
  /** Its place among the tracks. */
  readonly index: number
  readonly ssrc: number
  /** Names the sender, the same of all its tracks. */
  readonly cname: string
}

/** One track of an RTSP connection: describes itself (RFC 8866), and turns frames into packets between messages. */
export class OutgoingTrack {
  /** Of its packets; that of its reports is the next one. */
  channel: number
  readonly #options: OutgoingTrackOptions
  #info: TrackInfo
  #payloads: (frame: Frame) => Buffer[] | null
  #sequence = 0
  #packets = 0
  #bytes = 0
  #latestUs = 0

  constructor(info: TrackInfo, options: OutgoingTrackOptions) {
    this.#options = options
    this.#info = info
    this.#payloads = payloadsOf(info)
    this.channel = options.index * 2
  }

  get kind(): TrackInfo['kind'] {
    return this.#info.kind
  }

  get control(): string {
    return `streamid=${this.#options.index}`
  }

  get #type(): number {
    return STATIC_TYPES[this.#info.codec] ?? FIRST_DYNAMIC_TYPE + this.#options.index
  }

  get #rate(): number {
    const info = this.#info
    if (info.kind === 'video') return VIDEO_RATE
    return info.codec === 'aac' ? info.sampleRate : rtpAudioFormat(info.codec).clockRate
  }

  describe(): string[] {
    const format = formatOf(this.#info)
    return [
      `m=${this.kind} 0 RTP/AVP ${this.#type}`,
      `a=rtpmap:${this.#type} ${encodingOf(this.#info)}`,
      ...(format === null ? [] : [`a=fmtp:${this.#type} ${format}`]),
      `a=control:${this.control}`,
    ]
  }

  /** Goes on with what a track has become. False: its description has become wrong, so it cannot. */
  follow(info: TrackInfo): boolean {
    const isAlike = encodingOf(info) === encodingOf(this.#info)
    // Video has its parameter sets in the stream too.
    if (!isAlike || (info.kind === 'audio' && formatOf(info) !== formatOf(this.#info))) return false
    this.#info = info
    this.#payloads = payloadsOf(info)
    return true
  }

  /** In pieces; none: the frame is malformed. @param beginUs the time that is 0 for the server */
  packets(frame: Frame, beginUs: number): Buffer[] {
    const payloads = this.#payloads(frame)
    if (payloads === null) return []
    this.#latestUs = frame.timeUs
    const timestamp = this.#timestampOf(frame.timeUs - beginUs)
    return payloads.flatMap((payload, at) => this.#packet(payload, timestamp, at === payloads.length - 1))
  }

  /** Its latest time by our clock, from which servers know what of other tracks belongs to it. @param wallMs of the time 0 */
  report(beginUs: number, wallMs: number): Buffer {
    const { ssrc, cname } = this.#options
    const sinceUs = this.#latestUs - beginUs
    const counts = { packetCount: this.#packets, octetCount: this.#bytes }
    const times = { ...ntpOf(wallMs + sinceUs / 1000), rtpTimestamp: this.#timestampOf(sinceUs) }
    const rtcp = Buffer.concat([writeSenderReport({ ssrc, ...times, ...counts }), writeSdes(ssrc, cname)])
    return Buffer.concat([this.#dollar(this.channel + 1, rtcp.length), rtcp])
  }

  #packet(payload: Buffer, timestamp: number, marker: boolean): Buffer[] {
    const head = Buffer.allocUnsafe(RTP_BYTES)
    const { ssrc } = this.#options
    writeRtpHeader(head, { payloadType: this.#type, ssrc, timestamp, marker }, this.#sequence++)
    this.#packets += 1
    this.#bytes += payload.length
    return [this.#dollar(this.channel, RTP_BYTES + payload.length), head, payload]
  }

  /** RFC 2326 section 10.12. */
  #dollar(channel: number, bytes: number): Buffer {
    const head = Buffer.allocUnsafe(DOLLAR_BYTES)
    head[0] = DOLLAR
    head[1] = channel
    head.writeUInt16BE(bytes, 2)
    return head
  }

  /** Audio may be a little older than the first keyframe, so that it begins after 0. */
  #timestampOf(sinceUs: number): number {
    return (Math.round(((sinceUs + LEAD_US) * this.#rate) / 1_000_000) % 2 ** 32) >>> 0
  }
}

const LEAD_US = 1_000_000

/** As `a=rtpmap` has it. */
function encodingOf(info: TrackInfo): string {
  if (info.kind === 'video') return `${rtpName(info.codec)}/${VIDEO_RATE}`
  if (info.codec === 'aac') return `MPEG4-GENERIC/${info.sampleRate}/${info.channels}`
  const { name, clockRate, channels } = rtpAudioFormat(info.codec)
  return `${name}/${clockRate}${channels === 1 ? '' : `/${channels}`}`
}

/** As `a=fmtp` has it; null: there is nothing to say. */
function formatOf(info: TrackInfo): string | null {
  const config = Buffer.from(info.config)
  if (info.codec === 'h264') return h264Format(config)
  if (info.codec === 'hevc') return hevcFormat(config)
  return info.codec === 'aac' ? aacFormat(config) : null
}

const inText = (sets: readonly Buffer[]): string => sets.map((set) => set.toString('base64')).join(',')

/** RFC 6184 section 8.1. */
function h264Format(config: Buffer): string {
  const { sps = [], pps = [] } = readAvcConfig(config) ?? {}
  const [first] = sps
  const profile = first === undefined ? '' : `; profile-level-id=${profileLevelIdOf(first)}`
  return `packetization-mode=1; sprop-parameter-sets=${inText([...sps, ...pps])}${profile}`
}

/** The types of parameter sets (H.265 table 7-1), by their names in RFC 7798 section 7.1. */
const HEVC_SETS = { 'sprop-vps': 32, 'sprop-sps': 33, 'sprop-pps': 34 } as const

function hevcFormat(config: Buffer): string {
  const sets = hevcParameterSets(config) ?? []
  return Object.entries(HEVC_SETS)
    .map(([name, type]) => `${name}=${inText(sets.filter((set) => hevcType(set) === type))}`)
    .join('; ')
}

/** RFC 3640 section 3.3.6. */
const aacFormat = (config: Buffer): string =>
  `streamtype=5; profile-level-id=1; mode=AAC-hbr; sizelength=13; indexlength=3; indexdeltalength=3; config=${config.toString('hex')}`

function payloadsOf(info: TrackInfo): (frame: Frame) => Buffer[] | null {
  if (info.kind === 'video') {
    const split = packetizer(info.codec, Buffer.from(info.config), PAYLOAD_MAX)
    return ({ data, key }) => split(Buffer.from(data), key)
  }
  return ({ data }) => (info.codec === 'aac' ? aacPayloads(Buffer.from(data)) : [Buffer.from(data)])
}

/** RFC 3640 section 3.2: the size of the frame in front of it, or of each of its parts. Null: no packet says such a size. */
function aacPayloads(frame: Buffer): Buffer[] | null {
  if (frame.length === 0 || frame.length > 0x1fff) return null
  const head = Buffer.from([0, 16, frame.length >> 5, (frame.length << 3) & 0xff])
  const parts = Array.from({ length: Math.ceil(frame.length / (PAYLOAD_MAX - head.length)) }, (_, at) =>
    frame.subarray(at * (PAYLOAD_MAX - head.length), (at + 1) * (PAYLOAD_MAX - head.length)),
  )
  return parts.map((part) => Buffer.concat([head, part]))
}
