// The CPU time of ffmpeg for the default ladder, and of Sluice to make HLS of its output, against an ffmpeg that also
// makes the HLS: the same source, the same rates, rounds in turns. Run: node bench/channel-encoding.ts.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../src/base/clock.ts'
import { defaultLadder } from '../src/core/channels/ladder.ts'
import { rungsOf } from '../src/core/channels/runs/rungs.ts'
import { ladderArguments } from '../src/media/encoder/arguments.ts'
import { startEncoder } from '../src/media/encoder/encoder.ts'
import { createFfmpeg, type FfmpegProcess } from '../src/media/ffmpeg/ffmpeg.ts'
import { ChannelStreams } from '../src/media/hls/channelStreams.ts'
import { silentLog } from '../test/support/log.ts'
import { median, report } from './lib/report.ts'

const SECONDS = 20
const ROUNDS = 3
/** Of the CPU time of the peer. */
const TARGET = 0.92
/** Cores. */
const NODE_TARGET = 0.03
const CHUNK = 64 * 1024

const words = (text: string): string[] => text.split(' ')
const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
const times = join(folder, 'times')
const timed = join(folder, 'ffmpeg')
writeFileSync(timed, `#!/bin/sh\nffmpeg "$@"; status=$?; times > ${times}; exit $status\n`, { mode: 0o755 })
const ffmpeg = createFfmpeg({ log: silentLog, clock: systemClock, binary: timed, maxChildren: () => 1 })
const { video, audioKbps } = defaultLadder('')
const rungs = rungsOf(video)
const ladder = { rungs, audioKbps, hasAudio: true, input: 'push' } as const

/** 720p30 of 5 Mbit/s with AAC. */
function source(): Buffer {
  const video = `-f lavfi -i testsrc2=size=1280x720:rate=30:duration=${SECONDS},noise=alls=20:allf=t`
  const audio = `-f lavfi -i sine=frequency=440:sample_rate=48000:duration=${SECONDS}`
  const rate = '-c:v libx264 -preset ultrafast -b:v 5M -maxrate 5M -bufsize 5M -g 60 -pix_fmt yuv420p -c:a aac'
  return execFileSync('ffmpeg', words(`-v error ${video} ${audio} ${rate} -f matroska pipe:1`), { maxBuffer: 1 << 28 })
}

/** The same encoders, and ffmpeg's own HLS muxer with audio in each rendition. */
function peerArguments(): string[] {
  const own = ladderArguments(ladder)
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
async function costOf(encoder: FfmpegProcess, media: Buffer): Promise<Cost> {
  const before = process.cpuUsage()
  const over = new AbortController()
  void encoder.exited.then(() => over.abort())
  for (let at = 0; at < media.length; at += CHUNK)
    while (!over.signal.aborted && !encoder.write(media.subarray(at, at + CHUNK))) await delay(10)
  encoder.end()
  const { code, tail } = await encoder.exited
  if (code !== 0) throw new Error(tail)
  const { user, system } = process.cpuUsage(before)
  return { encoder: secondsOfChildren() / SECONDS, node: (user + system) / 1e6 / SECONDS }
}

/** The second line of `times` is user and system time of the shell's children. */
function secondsOfChildren(): number {
  const found =
    readFileSync(times, 'utf8')
      .split('\n')[1]
      ?.matchAll(/(\d+)m([\d.]+)s/g) ?? []
  return [...found].reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds), 0)
}

async function theirs(media: Buffer): Promise<Cost> {
  const run = ffmpeg.run({ name: 'peer', args: peerArguments(), stdin: true, cwd: folder })
  if (!run.ok) throw new Error(run.error.message)
  return costOf(run.value, media)
}

async function ours(media: Buffer): Promise<Cost> {
  const stream = new ChannelStreams(systemClock).open('en_1', rungs.length)
  const out = stream.begin({ rungs, audio: 128_000, segment: () => undefined, playable: () => undefined })
  const job = { name: 'bench', stdin: true, cwd: folder }
  const parts = { ffmpeg, clock: systemClock, job, ladder, out, ended: () => stream.end() }
  const started = startEncoder({ ...parts, encoded: (timeUs) => stream.observe(timeUs) })
  if (!started.ok) throw new Error(started.error.message)
  return costOf(started.value.process, media)
}

try {
  const media = source()
  const rounds: { mine: Cost; peer: Cost }[] = []
  for (let round = 0; round < ROUNDS; round++) rounds.push({ mine: await ours(media), peer: await theirs(media) })
  const cores = (of: (round: (typeof rounds)[number]) => number): number => median(rounds.map(of))
  const ratio = cores(({ mine, peer }) => mine.encoder / peer.encoder)
  const detail = `${cores(({ mine }) => mine.encoder).toFixed(3)} and ${cores(({ peer }) => peer.encoder).toFixed(3)} cores`
  report({ what: 'ffmpeg, of one with the hls muxer', ratio, target: `<= ${TARGET}`, met: ratio <= TARGET, detail })
  const more = cores(({ mine, peer }) => mine.node - peer.node)
  const met = more <= NODE_TARGET
  const what = 'more CPU of Node, to make HLS of it'
  report({ what, ratio: more / NODE_TARGET, target: `${NODE_TARGET} cores`, met, detail: `${more.toFixed(3)} cores` })
} finally {
  rmSync(folder, { recursive: true })
}
