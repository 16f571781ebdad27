// The CPU time to package a feed of H.264 and AAC for low-latency HLS, against an ffmpeg process that copies the same
// streams into fragmented MP4 as they arrive. Run: node bench/hls-packaging.ts. The figures are medians of rounds in turns.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ManualClock } from '../src/base/clock.ts'
import { MatroskaWriter } from '../src/media/ffmpeg/matroska.ts'
import { FrameSampler } from '../src/media/hls/frameSampler.ts'
import { HlsPackager } from '../src/media/hls/packager.ts'
import { MemoryStore } from '../src/media/hls/store.ts'
import { StreamNumbers } from '../src/media/hls/streamNumbers.ts'
import { HlsStream } from '../src/media/hls/stream.ts'
import { broadcastFrames } from './lib/broadcast.ts'
import { median, report } from './lib/report.ts'

const SECONDS = 10
const ROUNDS = 3
/** Of a core, for each watched feed. */
const TARGET_CORES = 0.003

const words = (text: string): string[] => text.split(' ')
const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))

const { tracks, frames } = broadcastFrames(SECONDS, ['-b:a', '128k'])
const file = join(folder, 'feed.mkv')
const writer = new MatroskaWriter(tracks)
writeFileSync(file, Buffer.concat([writer.head(), ...frames.map((frame) => writer.frame(frame))]))

/** Seconds of CPU time for a second of media. */
function ours(): number {
  const clock = new ManualClock()
  const limits = { listed: 6, maxBytes: 64e6 }
  const numbers = new StreamNumbers(clock)
  const options = { id: 'feed', clock, store: new MemoryStore(), numbers, renditions: ['v0'], ...limits }
  const stream = new HlsStream(options)
  const rendition = stream.rendition('v0')
  if (rendition === undefined) throw new Error('no rendition')
  const packager = new HlsPackager(rendition, { segmentSeconds: 2, parts: true }, () => stream.changed())
  const sampler = new FrameSampler({ packager, dateOf: (ms) => ms, hasGap: () => undefined })
  const before = process.cpuUsage()
  sampler.tracks(tracks)
  for (const frame of frames) sampler.frame(frame)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6 / SECONDS
}

function theirs(): number {
  const movflags = 'frag_keyframe+empty_moov+default_base_moof -frag_duration 500000'
  const args = words(
    `-hide_banner -benchmark -re -i ${file} -c copy -f mp4 -movflags ${movflags} -flush_packets 1 -y /dev/null`,
  )
  const [, user, system] =
    /bench: utime=([\d.]+)s stime=([\d.]+)s/.exec(spawnSync('ffmpeg', args).stderr.toString()) ?? []
  return (Number(user) + Number(system)) / SECONDS
}

try {
  const rounds = Array.from({ length: ROUNDS }, () => ({ own: ours(), ffmpeg: theirs() }))
  const own = median(rounds.map((round) => round.own))
  const ffmpeg = median(rounds.map((round) => round.ffmpeg))
  const mbit = (frames.reduce((sum, { data }) => sum + data.length, 0) * 8) / SECONDS / 1e6
  const detail = `${(own * 1000).toFixed(1)} ms of CPU time a second for ${mbit.toFixed(1)} Mbit/s; ffmpeg ${(ffmpeg * 1000).toFixed(1)} ms`
  report({ what: 'share of ffmpeg', ratio: own / ffmpeg, target: 'below 1', met: own < ffmpeg, detail })
  report({ what: 'of 0.003 cores', ratio: own / TARGET_CORES, target: '1', met: own <= TARGET_CORES, detail })
} finally {
  rmSync(folder, { recursive: true })
}
