import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { deserialize, serialize } from 'node:v8'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import type { AudioCodec, VideoCodec } from '../../../src/media/codecs/codecs.ts'
import { vp9Frame } from '../../../src/media/codecs/vp9.ts'
import type { Frame, FrameSink, RestingSource, TrackInfo } from '../../../src/media/frame.ts'
import { keptOf } from '../../support/clips.ts'
import { until } from '../../support/until.ts'

const run = promisify(execFile)

export interface Recorded {
  readonly tracks: readonly TrackInfo[]
  readonly frames: readonly Frame[]
}

export interface Wanted {
  video?: VideoCodec
  audio?: AudioCodec
  seconds: number
  size?: string
  /** Frames between keyframes. */
  gop?: number
  bframes?: number
  /** Frames a second; default 25. */
  rate?: number
  /** A filter of the video. Frames that it leaves out are missing. */
  filter?: string
  /** Of the video, bits per second; default: what the encoder chooses. */
  bitrate?: number
  /** Of the colours of BT.2020, as ffmpeg names it. */
  transfer?: string
}

/** A filter that leaves 159 columns and 119 rows, as a window of a screen may have. */
export const oddSides = 'format=rgb24,crop=159:119,format=yuv420p'

const VIDEO_ARGS: Record<VideoCodec, (wanted: Wanted) => string[]> = {
  h264: ({ bframes = 0 }) => ['-c:v', 'libx264', '-preset', 'ultrafast', '-bf', String(bframes), '-pix_fmt', 'yuv420p'],
  vp8: () => ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8', '-auto-alt-ref', '0'],
  vp9: () => ['-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '8'],
  av1: () => ['-c:v', 'libsvtav1', '-preset', '12'],
  hevc: ({ bframes = 0 }) => [
    '-c:v',
    'libx265',
    '-preset',
    'ultrafast',
    '-x265-params',
    `bframes=${bframes}:log-level=0`,
  ],
}

const AUDIO_ARGS: Record<AudioCodec, string[]> = {
  aac: ['-c:a', 'aac', '-ar', '44100', '-ac', '2'],
  opus: ['-c:a', 'libopus', '-ar', '48000', '-ac', '2'],
  pcma: ['-c:a', 'pcm_alaw', '-ar', '8000', '-ac', '1'],
  pcmu: ['-c:a', 'pcm_mulaw', '-ar', '8000', '-ac', '1'],
}

/** A test video and a tone that ffmpeg encodes, packet by packet, as ffprobe reads them. */
export async function encoded(wanted: Wanted): Promise<Recorded> {
  const args = argsOf(wanted)
  const recorded = deserialize(await keptOf(['frames', args], async () => serialize(await encode(args)))) as Recorded
  return { tracks: recorded.tracks.map((track) => described(track, recorded)), frames: inDecodeOrder(recorded.frames) }
}

/** VP9 is described by its first frame. */
function described(track: TrackInfo, { frames }: Recorded): TrackInfo {
  const first = track.codec === 'vp9' ? frames.find(({ kind }) => kind === 'video') : undefined
  const format = first && vp9Frame(Buffer.from(first.data))?.format
  return format ? { ...track, ...format } : track
}

/** ffprobe says the presentation time where it does not know the decode time. */
function inDecodeOrder(frames: readonly Frame[]): Frame[] {
  let latestUs = Number.POSITIVE_INFINITY
  const backwards = frames.toReversed().map((frame) => {
    if (frame.kind === 'audio') return frame
    latestUs = Math.min(frame.decodeTimeUs, latestUs)
    return { ...frame, decodeTimeUs: latestUs }
  })
  return backwards.toReversed()
}

function argsOf(wanted: Wanted): string[] {
  const { video, audio, seconds, size = '160x120', gop = 50, rate = 25, filter = 'null', bitrate, transfer } = wanted
  const colors = ['-color_primaries', 'bt2020', '-colorspace', 'bt2020nc', '-color_trc']
  const videoInput = ['-f', 'lavfi', '-i', `testsrc2=size=${size}:rate=${rate}:duration=${seconds},${filter}`]
  const tone = ['-f', 'lavfi', '-i', `sine=frequency=440:duration=${seconds}`]
  return [
    ...(video ? videoInput : []),
    ...(audio ? tone : []),
    ...(video ? [...VIDEO_ARGS[video](wanted), '-g', String(gop), '-keyint_min', String(gop)] : []),
    ...(video ? ['-fps_mode', 'vfr', ...(bitrate === undefined ? [] : ['-b:v', String(bitrate)])] : []),
    ...(transfer === undefined ? [] : [...colors, transfer]),
    ...(audio ? AUDIO_ARGS[audio] : []),
  ]
}

async function encode(args: readonly string[]): Promise<Recorded> {
  const file = `${process.env['TMPDIR'] ?? '/tmp'}/sluice-frames-${process.pid}-${Math.random()}.mkv`
  try {
    await run('ffmpeg', ['-v', 'error', ...args, '-y', file])
    return await read(file)
  } finally {
    await run('rm', ['-f', file])
  }
}

/** By the names that ffmpeg has for them. */
const G711: Readonly<Record<string, AudioCodec>> = { pcm_alaw: 'pcma', pcm_mulaw: 'pcmu' }

interface Probed {
  streams: {
    codec_type: 'video' | 'audio'
    codec_name: string
    width?: number
    height?: number
    sample_rate?: string
    channels?: number
    extradata?: string
  }[]
  packets: { codec_type: 'video' | 'audio'; pts_time?: string; dts_time?: string; flags: string; data: string }[]
}

async function read(file: string): Promise<Recorded> {
  const args = ['-v', 'error', '-show_data', '-show_streams', '-show_packets', '-of', 'json', file]
  const { stdout } = await run('ffprobe', args, { maxBuffer: 1 << 28 })
  const { streams, packets } = JSON.parse(stdout) as Probed
  const tracks = streams.map((stream): TrackInfo => {
    const config = bytesOf(stream.extradata ?? '')
    if (stream.codec_type === 'video') {
      const keeps = ['h264', 'hevc', 'av1'].includes(stream.codec_name)
      const { width = 0, height = 0 } = stream
      return {
        kind: 'video',
        codec: stream.codec_name as VideoCodec,
        width,
        height,
        config: keeps ? config : new Uint8Array(),
      }
    }
    const codec = (G711[stream.codec_name] ?? stream.codec_name) as AudioCodec
    const { sample_rate = '0', channels = 0 } = stream
    return {
      kind: 'audio',
      codec,
      sampleRate: Number(sample_rate),
      channels,
      config: codec === 'aac' ? config : new Uint8Array(),
    }
  })
  const frames = packets.map((packet): Frame => {
    const timeUs = microseconds(packet.pts_time)
    return {
      kind: packet.codec_type,
      timeUs,
      decodeTimeUs: packet.dts_time === undefined ? timeUs : microseconds(packet.dts_time),
      key: packet.flags.startsWith('K'),
      data: bytesOf(packet.data),
    }
  })
  return { tracks, frames }
}

const microseconds = (text = '0'): number => Math.max(0, Math.round(Number(text) * 1e6))

/** Bytes of a dump like `00000010: 0164 000a ffe1  .d....`. */
function bytesOf(dump: string): Uint8Array {
  const hex = dump
    .split('\n')
    .map((line) => /^[0-9a-f]{8}: ((?:[0-9a-f]{2,4} ?)+)/.exec(line)?.[1] ?? '')
    .join('')
  return Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'))
}

/** A source that plays a recording in a loop, `speed` times as fast as its clock. */
export class Player implements RestingSource {
  readonly #recorded: Recorded
  readonly #speed: number
  readonly #sinks = new Map<FrameSink, { waiting: boolean }>()
  readonly #timer: NodeJS.Timeout
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #startedAt: number
  readonly #lengthUs: number
  #next = 0
  #playedUs = 0
  #tracks: readonly TrackInfo[]
  #cache: Frame[] = []
  #ended = false

  constructor(recorded: Recorded, speed = 1, clock: Pick<Clock, 'monotonic'> = systemClock) {
    this.#recorded = recorded
    this.#clock = clock
    this.#startedAt = clock.monotonic()
    this.#tracks = recorded.tracks
    this.#speed = speed
    const last = Math.max(...recorded.frames.map((frame) => frame.timeUs))
    this.#lengthUs = Math.ceil((last + 40_000) / 40_000) * 40_000
    this.#timer = setInterval(() => this.#play(), 10)
  }

  subscribe(sink: FrameSink): () => void {
    if (this.#ended) {
      sink.end()
      return () => undefined
    }
    sink.tracks(this.#tracks)
    for (const frame of this.#cache) sink.frame(frame)
    this.#sinks.set(sink, { waiting: this.#cache.length === 0 })
    return () => void this.#sinks.delete(sink)
  }

  announce(listener: (tracks: readonly TrackInfo[]) => void): () => void {
    listener(this.#tracks)
    return () => undefined
  }

  get subscribers(): number {
    return this.#sinks.size
  }

  /** Changes the tracks from the next keyframe on. */
  change(tracks: readonly TrackInfo[]): void {
    this.#tracks = tracks
    this.#cache = []
    for (const sink of this.#sinks.keys()) sink.tracks(tracks)
  }

  /** Resolves when this much more media was played, in seconds of the media. */
  async plays(seconds: number): Promise<void> {
    const fromUs = this.#playedUs
    await until(() => this.#playedUs >= fromUs + seconds * 1e6)
  }

  end(): void {
    clearInterval(this.#timer)
    if (this.#ended) return
    this.#ended = true
    for (const sink of this.#sinks.keys()) sink.end()
    this.#sinks.clear()
  }

  #play(): void {
    const untilUs = (this.#clock.monotonic() - this.#startedAt) * 1000 * this.#speed
    for (;;) {
      const frame = this.#frameAt(this.#next)
      if (frame === undefined || frame.decodeTimeUs > untilUs) return
      this.#next += 1
      this.#playedUs = frame.decodeTimeUs
      this.#emit(frame)
    }
  }

  #frameAt(index: number): Frame | undefined {
    const { frames } = this.#recorded
    const frame = frames[index % frames.length]
    const offset = Math.floor(index / frames.length) * this.#lengthUs
    return frame && { ...frame, timeUs: frame.timeUs + offset, decodeTimeUs: frame.decodeTimeUs + offset }
  }

  #emit(frame: Frame): void {
    const hasVideo = this.#tracks.some((track) => track.kind === 'video')
    const isStart = frame.key && (frame.kind === 'video' || !hasVideo)
    if (isStart) this.#cache = []
    this.#cache.push(frame)
    for (const [sink, state] of this.#sinks) {
      if (isStart) state.waiting = false
      if (!state.waiting) sink.frame(frame)
    }
  }
}
