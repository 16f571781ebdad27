import type { Frame, FrameSink, TrackInfo, VideoTrack } from '../../frame.ts'
import { Backlog, OTHER_CLOCK_MS } from './backlog.ts'
import type { Fanout } from './fanout.ts'
import { BitrateMeter, type Layer, type Source } from './source.ts'
import { RtpTrack, type RtpTrackShape } from './rtpTrack.ts'
import { CLOCK_DRIFT } from './timeline.ts'
import { hevcProfileOf } from '../../codecs/hevc.ts'
import { type Packetizer, packetizer } from '../../codecs/packetizer.ts'

/** Payload bytes of a packet: with IPv6, UDP, RTP and SRTP around it, it fits an Ethernet frame. */
const MAX_PAYLOAD = 1180
/**
 * A backlog leaves at this many packets per call of `pace`, as in a catch-up, so that it does not overrun the links to viewers.
 * After `PACED_MS` all of it leaves, for sources that are faster.
 */
const PACED_PACKETS = 60
const PACED_MS = 1000

export interface FrameFeedOptions {
  readonly sessionId: string
  readonly sourceId: string | null
  readonly priority?: number | null
  readonly createFanout: () => Fanout
  /** The source is ready with these tracks, or has changed. */
  readonly ready: (source: Source, tracks: readonly TrackInfo[]) => void
  readonly ended: () => void
  readonly now: () => number
}

/** All of the video, or a layer of it. */
interface FeedLayer extends Layer {
  readonly packetize: Packetizer
  readonly backlog: Backlog
  /** Of its next packet. */
  nextIndex: number
}

/** Packetizes video and Opus frames of another protocol as a source. Such a source takes no keyframe requests. */
export class FrameFeed implements FrameSink {
  readonly takesLayers = true
  readonly #options: FrameFeedOptions
  /** By their names, the main one first. */
  #layers: ReadonlyMap<string, FeedLayer> = new Map()
  #audio: RtpTrack | null = null
  #audioIndex = 0
  #audioBacklog = new Backlog()
  #reported: readonly TrackInfo[] = []
  #isOver = false
  /** Video frames that arrived at once, and those behind them: at most a backlog and one second. */
  #paced: Frame[] = []
  #pacedUntilMs = 0

  constructor(options: FrameFeedOptions) {
    this.#options = options
  }

  tracks(tracks: readonly TrackInfo[]): void {
    if (this.#isOver) return
    // Frames with the previous configuration.
    this.#sendPaced(Number.POSITIVE_INFINITY)
    this.#reported = tracks
    const videos = tracks.filter((track) => track.kind === 'video')
    const [video = null] = videos
    const audio = tracks.find(({ codec }) => codec === 'opus') ?? null
    const { sessionId, sourceId, priority = null } = this.#options
    this.#layers = new Map(videos.map((track) => [nameOf(track), this.#layerOf(track)]))
    this.#audio = audio && this.#trackOf(this.#audio, { kind: 'audio', codec: 'opus', rate: 48_000 })
    const layers = [...this.#layers.values()]
    const profile = video?.codec === 'hevc' ? hevcProfileOf(video.config) : null
    this.#options.ready(
      { sessionId, sourceId, priority, audio: this.#audio, layers, profile },
      [video, audio].filter((track) => track !== null),
    )
  }

  /** What is cached and measured of it goes on while its codec is the same. */
  #layerOf(video: VideoTrack): FeedLayer {
    const before = this.#layers.get(nameOf(video))
    const track = this.#trackOf(before?.track ?? null, { kind: 'video', codec: video.codec, rate: 90_000 })
    const packetize = packetizer(video.codec, Buffer.from(video.config), MAX_PAYLOAD)
    if (before?.track === track) return { ...before, packetize }
    const meter = new BitrateMeter(this.#options.now())
    return { rid: nameOf(video), track, meter, packetize, backlog: new Backlog(), nextIndex: 0 }
  }

  /** The same one goes on while its codec is the same. */
  #trackOf(before: RtpTrack | null, shape: RtpTrackShape): RtpTrack {
    return before?.shape.codec === shape.codec ? before : new RtpTrack(shape, null, this.#options.createFanout())
  }

  frame(frame: Frame): void {
    if (this.#isOver) return
    const nowMs = this.#options.now()
    if (frame.kind === 'audio') {
      for (const one of this.#audioBacklog.take(frame, nowMs)) this.#takeAudio(one)
      return
    }
    const due = this.#layers.get(nameOf(frame))?.backlog.take(frame, nowMs) ?? []
    if (this.#paced.length === 0) this.#pacedUntilMs = nowMs + PACED_MS
    this.#paced.push(...due)
    // The usual case: one frame arrives, and leaves at once.
    if (this.#paced.length === 1) this.pace(nowMs)
  }

  /** Call it every few hundredths of a second: sends the rest of a backlog. */
  pace(nowMs: number): void {
    for (const { meter } of this.#layers.values()) meter.tick(nowMs)
    this.#sendPaced(nowMs < this.#pacedUntilMs ? PACED_PACKETS : Number.POSITIVE_INFINITY)
  }

  /** @param most packets; the frame that reaches it is sent as a whole */
  #sendPaced(most: number): void {
    let [frames, packets] = [0, 0]
    for (const frame of this.#paced) {
      if (packets >= most) break
      packets += this.#takeVideo(frame)
      frames += 1
    }
    this.#paced.splice(0, frames)
  }

  /** The last viewer left: frames stop until the next one joins. Forgets cached packets, which would be outdated then. */
  rest(): void {
    this.#layers = new Map()
    this.#audio = null
    this.#originMs = Number.POSITIVE_INFINITY
    this.#audioBacklog = new Backlog()
    this.#paced = []
    this.tracks(this.#reported)
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#options.ended()
  }

  /** Returns how many packets it became. */
  #takeVideo(frame: Frame): number {
    const { key, data, timeUs } = frame
    const layer = this.#layers.get(nameOf(frame))
    const payloads = layer?.packetize(Buffer.from(data), key) ?? null
    if (layer === undefined || payloads === null) return 0
    const { track, meter } = layer
    const timestamp = Math.round((timeUs * 9) / 100) >>> 0
    for (const [at, payload] of payloads.entries()) {
      const marker = at === payloads.length - 1
      const raw = { ssrc: 1, index: layer.nextIndex++, timestamp, marker, payload, isKeyStart: key && at === 0 }
      meter.add(payload.length)
      track.take(raw, this.#options.now())
    }
    this.#keepTime(track, timestamp, timeUs)
    return payloads.length
  }

  #takeAudio({ data, timeUs }: Frame): void {
    const track = this.#audio
    if (track === null) return
    const timestamp = Math.round((timeUs * 48) / 1000) >>> 0
    const payload = Buffer.from(data)
    track.take(
      { ssrc: 2, index: this.#audioIndex++, timestamp, marker: false, payload, isKeyStart: true },
      this.#options.now(),
    )
    this.#keepTime(track, timestamp, timeUs)
  }

  /**
   * Audio and video share one clock, `timeUs`. The frame that came soonest after its time sets its offset to ours: the first ones
   * may have waited, and then viewers would see what is yet to come. The offset rises as a slow clock may fall behind, and
   * so slowly that audio and video, whose latest frames set theirs at different moments, stay in sync.
   */
  #originMs = Number.POSITIVE_INFINITY
  #originAtMs = 0
  #keepTime(track: RtpTrack, timestamp: number, timeUs: number): void {
    const nowMs = this.#options.now()
    const risenMs = this.#originMs + Math.max(0, nowMs - this.#originAtMs) * CLOCK_DRIFT
    const originMs = nowMs - timeUs / 1000
    this.#originMs = originMs - risenMs > OTHER_CLOCK_MS ? originMs : Math.min(risenMs, originMs)
    this.#originAtMs = nowMs
    track.timeline.reported(timestamp, this.#originMs + timeUs / 1000)
  }
}

/** Of a layer; '' where there is one. */
const nameOf = ({ layer = '' }: Pick<Frame, 'layer'>): string => layer
