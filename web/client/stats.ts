import {
  countOf,
  numberOf,
  ofType,
  type Playout,
  PlayoutReader,
  readReports,
  type Report,
  roundTripOf,
} from './playout.ts'

/** Figures of the video that is sent or received. With simulcast: those of the largest layer. */
export interface VideoStats {
  readonly width: number
  readonly height: number
  readonly framesPerSecond: number
  /** As in `video/H264`, without `video/`; '' as long as it is not known. */
  readonly codec: string
}

/** Figures of a connection. Rates cover the time since the last call. */
export interface MediaStats extends Playout {
  /** Bits per second of all audio and video; with simulcast of all layers. */
  readonly bitrate: number
  /** Null as long as no video flows. */
  readonly video: VideoStats | null
  readonly audioCodec: string
  /** 0 to 1: the share of packets that were lost on their way to the receiver. */
  readonly loss: number
  /** Null: not known. */
  readonly roundTripMs: number | null
  /** Pictures that came and were not shown, since the connection began. Null: not known. */
  readonly dropped: number | null
}

/** Sums since the begin of the connection. */
interface Totals {
  readonly atMs: number
  readonly bytes: number
  readonly frames: number
  readonly packets: number
  readonly lost: number
}

const NOTHING: Totals = { atMs: 0, bytes: 0, frames: 0, packets: 0, lost: 0 }

const sum = (reports: readonly Report[], ...names: string[]): number =>
  reports.reduce((total, report) => total + names.reduce((part, name) => part + countOf(report[name]), 0), 0)
/** What all entries of a type count as received. */
export const bytesReceived = (all: readonly Report[], type: string): number => sum(ofType(all, type), 'bytesReceived')
/** Totals begin again when a layer or a connection does. */
const grown = (now: number, before: number): number => Math.max(0, now - before)

/** Reads the statistics of one connection after the other; rates cover the time since the last call. */
export class StatsReader {
  readonly #playout = new PlayoutReader()
  #before: Totals = NOTHING

  async read(pc: RTCPeerConnection): Promise<MediaStats> {
    const all = await readReports(pc)
    const streams = [...ofType(all, 'inbound-rtp'), ...ofType(all, 'outbound-rtp')]
    const video = largest(streams.filter(({ kind }) => kind === 'video'))
    const totals = totalsOf(all, streams, video)
    const before = this.#before
    this.#before = totals
    const seconds = before.atMs === 0 ? 0 : (totals.atMs - before.atMs) / 1000
    const rate = (name: keyof Totals): number => (seconds > 0 ? grown(totals[name], before[name]) / seconds : 0)
    const lost = grown(totals.lost, before.lost)
    const packets = grown(totals.packets, before.packets)
    return {
      bitrate: Math.round(8 * rate('bytes')),
      video: video
        ? { ...sizeOf(video), framesPerSecond: Math.round(rate('frames')), codec: codecOf(all, video) }
        : null,
      audioCodec: codecOf(
        all,
        streams.find(({ kind }) => kind === 'audio'),
      ),
      loss: lost === 0 ? 0 : Math.min(1, lost / (packets + (isReceiver(streams) ? lost : 0))),
      roundTripMs: roundTripOf(all),
      dropped: numberOf(video?.['framesDropped']),
      ...this.#playout.read(all),
    }
  }
}

const isReceiver = (streams: readonly Report[]): boolean => streams.some(({ type }) => type === 'inbound-rtp')

const sizeOf = (video: Report) => ({ width: countOf(video['frameWidth']), height: countOf(video['frameHeight']) })

const largest = (layers: readonly Report[]): Report | undefined =>
  layers.toSorted((a, b) => countOf(b['frameWidth']) - countOf(a['frameWidth']))[0]

function totalsOf(all: readonly Report[], streams: readonly Report[], video: Report | undefined): Totals {
  // A receiver counts its own losses; those of a sender are in the reports of the other side.
  const losses = isReceiver(streams) ? streams : ofType(all, 'remote-inbound-rtp')
  return {
    atMs: Math.max(0, ...streams.map(({ timestamp }) => countOf(timestamp))),
    bytes: sum(streams, 'bytesReceived', 'bytesSent'),
    frames: video ? countOf(video['framesDecoded']) + countOf(video['framesEncoded']) : 0,
    packets: sum(streams, 'packetsReceived', 'packetsSent'),
    lost: sum(losses, 'packetsLost'),
  }
}

function codecOf(all: readonly Report[], stream: Report | undefined): string {
  const mimeType = all.find(({ id }) => id === stream?.['codecId'])?.['mimeType']
  return typeof mimeType === 'string' ? (mimeType.split('/')[1] ?? '') : ''
}
