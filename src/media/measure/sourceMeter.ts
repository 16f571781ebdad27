import type { SourceReading } from '../../core/streams/source.ts'
import type { AudioTrack, Frame, TrackInfo, VideoTrack } from '../frame.ts'
import { isOfMain } from '../layers.ts'
import { Lags } from './lags.ts'
import { type LevelFigures, LevelMeter, SILENT_LEVEL } from './levelMeter.ts'
import { LinkMeter, type LinkTotals } from './linkMeter.ts'
import { videoProfileOf, type VideoProfile } from './profile.ts'
import { isSilent } from './silence.ts'
import { VideoMeter } from './videoMeter.ts'

const SLICE_MS = 1000
/** A minute of slices. */
const SLICES = 60

/** A layer without frames for this long does not come now. */
const LAYER_MS = 2000

type MeasuredFrame = Pick<
  Frame,
  'kind' | 'layer' | 'timeUs' | 'decodeTimeUs' | 'key' | 'isJump' | 'isRetimed' | 'waitedMs' | 'data'
>

/**
 * Measures the media of one publisher as it comes in, in slices of a second; of video in layers the main one. Costs some
 * comparisons for each frame, and the first bytes of each packet of audio.
 */
export class SourceMeter {
  readonly #video = new VideoMeter(SLICES)
  readonly #lags = { video: new Lags(), audio: new Lags() }
  readonly #link = new LinkMeter()
  readonly #levels = new LevelMeter()
  /** Of a source whose packets were measured where they came in. */
  #linkLevels: LevelFigures = {}
  /** Of the latest packet of audio; null: packets do not say it. */
  #level: number | null = null
  readonly #jumps: number[] = []
  #profile: VideoProfile = {}
  #audioTrack: AudioTrack | null = null
  #hasVideo = false
  #mainLayer: string | undefined
  /** When the latest frame of each layer came, by their names, where there are several. */
  readonly #layers = new Map<string, number>()
  #jumpsNow = 0
  /** Of a frame of this slice. */
  #isRetimed = false
  #slicedAtMs: number | null = null
  /** The time of the last sound, and of the last packet, microseconds; null: not known. */
  #heardUs: number | null = null
  #audioUs = 0

  tracks(tracks: readonly TrackInfo[]): void {
    const video = tracks.find((track): track is VideoTrack => track.kind === 'video')
    this.#hasVideo = video !== undefined
    this.#mainLayer = video?.layer
    if (video !== undefined && video.config.length > 0) this.#profile = videoProfileOf(video)
    this.#audioTrack = tracks.find((track): track is AudioTrack => track.kind === 'audio') ?? null
  }

  /** @param nowMs monotonic */
  frame(frame: MeasuredFrame, nowMs: number): void {
    this.#slicedAtMs ??= nowMs
    if (nowMs - this.#slicedAtMs >= SLICE_MS) this.#slice(nowMs)
    if (frame.layer !== undefined) this.#layers.set(frame.layer, nowMs)
    if (!isOfMain(frame, this.#mainLayer)) return
    if (frame.isJump === true) this.#jumped()
    if (frame.isRetimed === true) this.#retimed(frame.kind)
    this.#lags[frame.kind].came(frame.decodeTimeUs / 1000, nowMs - (frame.waitedMs ?? 0))
    if (frame.kind === 'video') this.#video.frame(frame)
    else this.#audio(frame)
  }

  /** Totals of packets, from a protocol that counts them. Call it about once a second. */
  link(totals: LinkTotals, nowMs: number): void {
    this.#link.add(totals, nowMs)
    this.#linkLevels = totals.levels ?? {}
  }

  /** The level of the packet of audio that comes, decibels below the loudest there is (RFC 6464). */
  level(belowDb: number): void {
    this.#level = belowDb
    this.#levels.packet(belowDb)
  }

  get levels(): LevelFigures {
    return this.#levels.figures()
  }

  reading(): SourceReading {
    const { video, audio } = this.#lags
    const skewMs = audio.recentMs - video.recentMs
    const behindMs = (this.#hasVideo ? video : audio).behindMs
    const track = this.#audioTrack
    return {
      ...this.#profile,
      ...(this.#hasVideo && this.#video.figures()),
      ...(track !== null && { sampleRate: track.sampleRate, channels: track.channels }),
      ...(this.#heardUs !== null && { silentMs: Math.max(0, Math.round((this.#audioUs - this.#heardUs) / 1000)) }),
      ...this.levels,
      ...this.#linkLevels,
      ...(Number.isFinite(skewMs) && { skewMs: Math.round(skewMs) }),
      ...(behindMs !== null && { behindMs: Math.round(behindMs) }),
      clockJumps: this.#jumps.reduce((sum, jumps) => sum + jumps, 0),
      ...this.#link.figures(),
      ...(this.#layers.size > 0 && { layers: this.#layers.size }),
    }
  }

  #audio({ timeUs, data }: MeasuredFrame): void {
    const silent = this.#level === null ? this.#isSilent(data) : this.#level === SILENT_LEVEL
    this.#audioUs = timeUs
    if (silent === false || (silent === true && this.#heardUs === null)) this.#heardUs = timeUs
  }

  #isSilent(data: Uint8Array): boolean | null {
    return this.#audioTrack === null ? null : isSilent(this.#audioTrack.codec, data)
  }

  #jumped(): void {
    this.#jumpsNow += 1
    this.#heardUs = null
    for (const lags of Object.values(this.#lags)) lags.restart()
  }

  /** Such a time tells nothing of how late it comes. */
  #retimed(kind: Frame['kind']): void {
    this.#isRetimed = true
    this.#lags[kind].restart()
  }

  #slice(nowMs: number): void {
    this.#slicedAtMs = nowMs
    for (const [name, atMs] of this.#layers) if (nowMs - atMs > LAYER_MS) this.#layers.delete(name)
    this.#video.slice(this.#profile.declaredFrameRate ?? null)
    this.#lags.video.slice()
    this.#lags.audio.slice()
    this.#levels.slice()
    this.#jumps.push(this.#jumpsNow + Number(this.#isRetimed))
    if (this.#jumps.length > SLICES) this.#jumps.shift()
    this.#jumpsNow = 0
    this.#isRetimed = false
  }
}
