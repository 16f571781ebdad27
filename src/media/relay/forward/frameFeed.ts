import type { Frame, FrameSink, TrackInfo } from '../../frame.ts'
import { Backlog } from './backlog.ts'
import type { Fanout } from './fanout.ts'
import { BitrateMeter, type Source } from './source.ts'
import { RtpTrack, type RtpTrackShape } from './rtpTrack.ts'
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

/** Packetizes video and Opus frames of another protocol as a source. Such a source takes no keyframe requests. */
export class FrameFeed implements FrameSink {
  readonly #options: FrameFeedOptions
  #video: RtpTrack | null = null
  #audio: RtpTrack | null = null
  #packetize: Packetizer | null = null
  #videoIndex = 0
  #audioIndex = 0
  #reported: readonly TrackInfo[] = []
  #isOver = false
  #backlogs = { video: new Backlog(), audio: new Backlog() }
  /** Video frames that arrived at once, and those behind them: at most a backlog and one second. */
  #paced: Frame[] = []
  #pacedUntilMs = 0

  constructor(options: FrameFeedOptions) {
    this.#options = options
  }

  tracks(tracks: readonly TrackInfo[]): void {
    if (this.#isOver) return
    // Frames with the previous configuration.
    this.pace(Number.POSITIVE_INFINITY)
    this.#reported = tracks
    const video = tracks.find((track) => track.kind === 'video') ?? null
    const audio = tracks.find(({ codec }) => codec === 'opus') ?? null
    this.#packetize = video && packetizer(video.codec, Buffer.from(video.config), MAX_PAYLOAD)
    const { now, sessionId, sourceId, priority = null } = this.#options
    this.#video = video && this.#trackOf(this.#video, { kind: 'video', codec: video.codec, rate: 90_000 })
    this.#audio = audio && this.#trackOf(this.#audio, { kind: 'audio', codec: 'opus', rate: 48_000 })
    const layers = this.#video === null ? [] : [{ rid: '', track: this.#video, meter: new BitrateMeter(now()) }]
    const profile = video?.codec === 'hevc' ? hevcProfileOf(video.config) : null
    this.#options.ready(
      { sessionId, sourceId, priority, audio: this.#audio, layers, profile },
      [video, audio].filter((track) => track !== null),
    )
  }

  /** The same one goes on while its codec is the same. */
  #trackOf(before: RtpTrack | null, shape: RtpTrackShape): RtpTrack {
    return before?.shape.codec === shape.codec ? before : new RtpTrack(shape, null, this.#options.createFanout())
  }

  frame(frame: Frame): void {
    if (this.#isOver) return
    const nowMs = this.#options.now()
    const due = this.#backlogs[frame.kind].take(frame, nowMs)
    if (frame.kind === 'audio') {
      for (const one of due) this.#takeAudio(one)
      return
    }
    if (this.#paced.length === 0) this.#pacedUntilMs = nowMs + PACED_MS
    this.#paced.push(...due)
    // The usual case: one frame arrives, and leaves at once.
    if (this.#paced.length === 1) this.pace(nowMs)
  }

  /** Call it every few hundredths of a second: sends the rest of a backlog. */
  pace(nowMs: number): void {
    const until = nowMs < this.#pacedUntilMs ? this.#videoIndex + PACED_PACKETS : Number.POSITIVE_INFINITY
    let sent = 0
    for (; sent < this.#paced.length && this.#videoIndex < until; sent++) {
      const paced = this.#paced[sent]
      if (paced !== undefined) this.#takeVideo(paced)
    }
    this.#paced.splice(0, sent)
  }

  /** The last viewer left: frames stop until the next one joins. Forgets cached packets, which would be outdated then. */
  rest(): void {
    this.#video = null
    this.#audio = null
    this.#originMs = Number.POSITIVE_INFINITY
    this.#backlogs = { video: new Backlog(), audio: new Backlog() }
    this.#paced = []
    this.tracks(this.#reported)
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#options.ended()
  }

  #takeVideo({ key, data, timeUs }: Frame): void {
    const track = this.#video
    const payloads = this.#packetize?.(Buffer.from(data), key) ?? null
    if (track === null || payloads === null) return
    const timestamp = Math.round((timeUs * 9) / 100) >>> 0
    for (const [at, payload] of payloads.entries()) {
      const marker = at === payloads.length - 1
      const raw = { ssrc: 1, index: this.#videoIndex++, timestamp, marker, payload, isKeyStart: key && at === 0 }
      track.take(raw, this.#options.now())
    }
    this.#keepTime(track, timestamp, timeUs)
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
   * may have waited, and then viewers would see what is yet to come.
   */
  #originMs = Number.POSITIVE_INFINITY
  #keepTime(track: RtpTrack, timestamp: number, timeUs: number): void {
    this.#originMs = Math.min(this.#originMs, this.#options.now() - timeUs / 1000)
    track.timeline.reported(timestamp, this.#originMs + timeUs / 1000)
  }
}
