import type { Frame, FrameSink, TrackInfo } from '../../frame.ts'
import { Backlog } from './backlog.ts'
import type { Fanout } from './fanout.ts'
import { BitrateMeter, type Source } from './source.ts'
import { RtpTrack } from './rtpTrack.ts'
import { lengthPrefixed, packetizeH264, splitNals } from '../../codecs/h264.ts'
import { readAvcConfig } from '../../codecs/h264Config.ts'

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

/** Packetizes H.264 and Opus frames of another protocol as a source. Such a source takes no keyframe requests. */
export class FrameFeed implements FrameSink {
  readonly #options: FrameFeedOptions
  #video: RtpTrack | null = null
  #audio: RtpTrack | null = null
  #config: Buffer[] = []
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
    const video = tracks.find(({ kind, codec }) => kind === 'video' && codec === 'h264')
    const audio = tracks.find(({ kind, codec }) => kind === 'audio' && codec === 'opus')
    const sets = video === undefined ? null : readAvcConfig(Buffer.from(video.config))
    this.#config = sets === null ? [] : [...sets.sps, ...sets.pps]
    const { createFanout, now, sessionId, sourceId, priority = null } = this.#options
    this.#video = video
      ? (this.#video ?? new RtpTrack({ kind: 'video', codec: 'h264', rate: 90_000 }, null, createFanout()))
      : null
    this.#audio = audio
      ? (this.#audio ?? new RtpTrack({ kind: 'audio', codec: 'opus', rate: 48_000 }, null, createFanout()))
      : null
    const layers = this.#video === null ? [] : [{ rid: '', track: this.#video, meter: new BitrateMeter(now()) }]
    this.#options.ready({ sessionId, sourceId, priority, audio: this.#audio, layers, profileLevelId: null }, [
      ...(video ? [video] : []),
      ...(audio ? [audio] : []),
    ])
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
    this.#originMs = null
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
    const payloads = track === null ? null : packetizeH264(this.#withParameters(Buffer.from(data), key), MAX_PAYLOAD)
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

  /** Puts the parameter sets in front of a keyframe without them: a decoder starts there. */
  #withParameters(frame: Buffer, key: boolean): Buffer {
    if (!key || this.#config.length === 0) return frame
    const nals = splitNals(frame)
    const hasOwn = nals?.some((nal) => ((nal[0] ?? 0) & 31) === SPS) === true
    return nals === null || hasOwn ? frame : lengthPrefixed([...this.#config, ...nals])
  }

  /** Audio and video share one clock, `timeUs`. The first frame sets its offset to ours. */
  #originMs: number | null = null
  #keepTime(track: RtpTrack, timestamp: number, timeUs: number): void {
    this.#originMs ??= this.#options.now() - timeUs / 1000
    track.timeline.reported(timestamp, this.#originMs + timeUs / 1000)
  }
}

const SPS = 7
