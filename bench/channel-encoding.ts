// The CPU time of ffmpeg for the default ladder, and of Sluice to make HLS of its output, against an ffmpeg that also
// makes the HLS: the same source, the same rates, rounds in turns. Then the same for a ladder whose top rung is copied, and
// for the audio alone. Run: node bench/channel-encoding.ts.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../src/base/clock.ts'
import { defaultLadder } from '../src/core/channels/ladder.ts'
import { rungsOf } from '../src/core/channels/runs/rungs.ts'
import { ladderArguments, type LadderInput } from '../src/media/encoder/arguments.ts'
import { type CopySink, startEncoder } from '../src/media/encoder/encoder.ts'
import { FragmentReader } from '../src/media/encoder/fragmentReader.ts'
import type { FfmpegProcess } from '../src/media/ffmpeg/ffmpeg.ts'
import { X264 } from '../src/media/ffmpeg/videoEncoders.ts'
import type { Frame, TrackInfo } from '../src/media/frame.ts'
import { ChannelStreams } from '../src/media/hls/channelStreams.ts'
import { broadcastFile } from './lib/broadcast.ts'
import { median, report } from './lib/report.ts'
import { timedFfmpeg } from './lib/timedFfmpeg.ts'

const SECONDS = 20
const RADIO_SECONDS = 120
const ROUNDS = 3
/** Of the CPU time of the peer. */
const TARGET = 0.92
/** Cores. */
const NODE_TARGET = 0.03
const COPY_TARGET = 0.27
const RADIO_TARGET = 0.03
const CHUNK = 64 * 1024

const words = (text: string): string[] => text.split(' ')
const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
const timed = timedFfmpeg(folder)
const { ffmpeg } = timed
const { video, audioKbps } = defaultLadder('')
const rungs = rungsOf(video)
const ladder = { rungs, audioKbps, hasVideo: true, audioTracks: [0], input: 'push' } as const
const copying = { ...ladder, rungs: rungs.map((rung, at) => (at === 0 ? { ...rung, copy: true as const } : rung)) }
const radio = { ...ladder, hasVideo: false }

/**
 * AAC as radio sends it: noise, because a pure tone costs ffmpeg's encoder four times as much as any programme. It lasts
 * longer than the video, because the start of the process would hide the little work that there is.
 */
function radioSource(): Media {
  const noise = `-f lavfi -i anoisesrc=color=pink:sample_rate=48000:duration=${RADIO_SECONDS} -ac 2`
  const matroska = execFileSync('ffmpeg', words(`-v error ${noise} -c:a aac -f matroska pipe:1`), {
    maxBuffer: 1 << 28,
  })
  return { matroska, seconds: RADIO_SECONDS, track: null, frames: [] }
}

/** The same encoders, and ffmpeg's own HLS muxer with audio in each rendition. */
function peerArguments(): string[] {
  const own = ladderArguments(ladder, X264)
  const graph = own[own.indexOf('-filter_complex') + 1] ?? ''
  const x264 =
    '-c:v libx264 -preset superfast -tune zerolatency -pix_fmt yuv420p -profile:v high -g 600 -sc_threshold 0'
  const hls =
    '-f hls -hls_time 2 -hls_list_size 10 -hls_segment_type fmp4 -hls_flags delete_segments -hls_fmp4_init_filename %v.mp4'
  return [
    ...words('-y -probesize 500000 -analyzeduration 100000 -fpsprobesize 0 -f matroska -i pipe:0 -filter_complex'),
    graph,
    ...rungs.flatMap((_, index) => ['-map', `[v${index}]`, '-map', '0:a:0']),
    ...words(`${x264} -fps_mode passthrough -enc_time_base 1:90000`),
    '-force_key_frames',
    'expr:gte(t,n_forced*2)',
    ...rungs.flatMap(({ bitrate }, at) =>
      words(`-b:v:${at} ${bitrate} -maxrate:v:${at} ${Math.round(bitrate * 1.1)} -bufsize:v:${at} ${bitrate * 2}`),
    ),
    ...words(`-c:a aac -ar 48000 -ac 2 -af aresample=async=1 -b:a ${ladder.audioKbps}k ${hls} -var_stream_map`),
    rungs.map((_, at) => `v:${at},a:${at}`).join(' '),
    '%v.m3u8',
    ...own.slice(own.lastIndexOf('-map')),
  ]
}

/** Cores, for media at its speed. */
interface Cost {
  readonly encoder: number
  readonly node: number
}

/** Feeds a process and waits for its end. */
async function costOf(
  encoder: FfmpegProcess,
  { matroska: media, seconds }: Media,
  copy: ((share: number) => void) | null = null,
): Promise<Cost> {
  const before = process.cpuUsage()
  const over = new AbortController()
  void encoder.exited.then(() => over.abort())
  for (let at = 0; at < media.length; at += CHUNK) {
    copy?.((at + CHUNK) / media.length)
    while (!over.signal.aborted && !encoder.write(media.subarray(at, at + CHUNK))) await delay(10)
    // A live source leaves time for the output of the process: at once, far more groups would wait than ever do.
    if (copy !== null) await delay(5)
  }
  encoder.end()
  const { code, tail } = await encoder.exited
  if (code !== 0) throw new Error(tail)
  const { user, system } = process.cpuUsage(before)
  return { encoder: timed.seconds() / seconds, node: (user + system) / 1e6 / seconds }
}

async function theirs(media: Media): Promise<Cost> {
  // As many pipes as ours has, because its thumbnails go to the last one.
  const outputs = Array.from({ length: rungs.length + 2 }, () => () => undefined)
  const run = ffmpeg.run({ name: 'peer', args: peerArguments(), stdin: true, cwd: folder, outputs })
  if (!run.ok) throw new Error(run.error.message)
  return costOf(run.value, media)
}

async function ours(media: Media, ladder: LadderInput): Promise<Cost> {
  const { rungs } = ladder
  const stream = new ChannelStreams(systemClock).open('en_1', rungs.length, ladder === copying)
  const run = { rungs, audio: 128_000, audioOnly: null, segment: () => undefined, playable: () => undefined }
  const job = { name: 'bench', stdin: true, cwd: folder }
  const parts = { ffmpeg, clock: systemClock, job, ladder, out: stream.begin(run), ended: () => stream.end() }
  const started = startEncoder(parts)
  if (!started.ok) throw new Error(started.error.message)
  const { process, copied } = started.value
  return costOf(process, media, copied === null ? null : (share) => copyUpTo(media, copied, share))
}

/** What an encoder of ours gets besides the bytes for its process. */
interface Media {
  readonly matroska: Buffer
  readonly seconds: number
  /** The video, for a copied rung. */
  readonly track: TrackInfo | null
  readonly frames: readonly Frame[]
}

const copiedFrames = new WeakMap<CopySink, number>()

/** Gives a copied rung the frames of this share of the media. */
function copyUpTo({ track, frames }: Media, sink: CopySink, share: number): void {
  const from = copiedFrames.get(sink) ?? 0
  if (from === 0 && track !== null) sink.track(track)
  const to = Math.ceil(frames.length * share)
  for (const frame of frames.slice(from, to)) sink.frame(frame)
  copiedFrames.set(sink, Math.max(from, to))
}

/** The frames of the source, read by the parser of ours. */
function framesOf(matroska: Buffer): Pick<Media, 'track' | 'frames'> {
  const options = words(
    '-v error -f matroska -i pipe:0 -map 0:v -c copy -f mp4 -video_track_timescale 90000 ' +
      '-movflags frag_every_frame+empty_moov+default_base_moof pipe:1',
  )
  const bytes = execFileSync('ffmpeg', options, { input: matroska, maxBuffer: 1 << 28 })
  const tracks: TrackInfo[] = []
  const frames: Frame[] = []
  const reader = new FragmentReader({
    offsetUs: 0,
    track: (track) => void tracks.push(track),
    frame: (frame) => void frames.push({ ...frame, data: Buffer.from(frame.data) }),
  })
  reader.push(bytes)
  const [track] = tracks
  if (track === undefined) throw new Error('no track')
  return { track, frames }
}

try {
  const matroska = broadcastFile(SECONDS, 'matroska')
  const media: Media = { matroska, seconds: SECONDS, ...framesOf(matroska) }
  const audio = radioSource()
  const rounds: { mine: Cost; peer: Cost; copy: Cost; audio: Cost }[] = []
  for (let round = 0; round < ROUNDS; round++)
    rounds.push({
      mine: await ours(media, ladder),
      peer: await theirs(media),
      copy: await ours(media, copying),
      audio: await ours(audio, radio),
    })
  const cores = (of: (round: (typeof rounds)[number]) => number): number => median(rounds.map(of))
  const ratio = cores(({ mine, peer }) => mine.encoder / peer.encoder)
  const detail = `${cores(({ mine }) => mine.encoder).toFixed(3)} and ${cores(({ peer }) => peer.encoder).toFixed(3)} cores`
  report({ what: 'ffmpeg, of one with the hls muxer', ratio, target: `<= ${TARGET}`, met: ratio <= TARGET, detail })
  const more = cores(({ mine, peer }) => mine.node - peer.node)
  const met = more <= NODE_TARGET
  const what = 'more CPU of Node, to make HLS of it'
  report({ what, ratio: more / NODE_TARGET, target: `${NODE_TARGET} cores`, met, detail: `${more.toFixed(3)} cores` })
  for (const [name, target, of] of [
    ['a ladder with a copied rung', COPY_TARGET, ({ copy }: (typeof rounds)[number]) => copy],
    ['the audio alone', RADIO_TARGET, ({ audio }: (typeof rounds)[number]) => audio],
  ] as const) {
    const whole = cores((round) => of(round).encoder)
    const node = cores((round) => of(round).node)
    const detail = `${whole.toFixed(3)} cores, and ${node.toFixed(3)} of Node with the feeding of the bench`
    report({ what: `ffmpeg, ${name}`, ratio: whole / target, target: `${target} cores`, met: whole <= target, detail })
  }
} finally {
  rmSync(folder, { recursive: true })
}
