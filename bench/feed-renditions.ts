// The CPU time of two renditions (480p and 360p) of a feed of 720p30, beside its own: of their ffmpeg, against a bare ffmpeg
// with the same encoders that reads a file in real time, and of Sluice, against a watched feed without renditions (whose own
// cost is in hls-packaging.ts). Run: node bench/feed-renditions.ts.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../src/base/clock.ts'
import { feedRungs } from '../src/core/hls/feedRungs.ts'
import { ENDLESS_ROOM } from '../src/media/convert/encodingRoom.ts'
import { followingArguments } from '../src/media/encoder/followingArguments.ts'
import { MatroskaWriter } from '../src/media/ffmpeg/matroska.ts'
import { X264 } from '../src/media/ffmpeg/videoEncoders.ts'
import { FeedStream } from '../src/media/hls/feedStream.ts'
import { MemoryStore } from '../src/media/hls/store.ts'
import { StreamNumbers } from '../src/media/hls/streamNumbers.ts'
import { Hub } from '../src/media/hub.ts'
import { freeLoad } from '../test/support/load.ts'
import { silentLog } from '../test/support/log.ts'
import { broadcastFrames } from './lib/broadcast.ts'
import { report } from './lib/report.ts'
import { timedFfmpeg } from './lib/timedFfmpeg.ts'

const SECONDS = 20
/** Of the CPU time of the bare ffmpeg. */
const TARGET = 1.1
/** Cores of Sluice, more than without renditions. */
const NODE_TARGET = 0.03
const RENDITIONS = [
  { height: 480, bitrate: 1_200_000 },
  { height: 360, bitrate: 600_000 },
]

const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
const timed = timedFfmpeg(folder)
const { ffmpeg } = timed

const { tracks, frames } = broadcastFrames(SECONDS)

/** Cores of ffmpeg and of this process. */
interface Cost {
  readonly encoder: number
  readonly node: number
}

/** Plays the broadcast in real time. */
async function watched(renditions: typeof RENDITIONS): Promise<Cost> {
  const source = new Hub()
  const numbers = new StreamNumbers(systemClock)
  const tools = { ffmpeg, clock: systemClock, log: silentLog, store: new MemoryStore(), numbers, load: freeLoad() }
  const segments = { targetSeconds: 2, listed: 6, maxBytes: 64e6, parts: true }
  const stream = new FeedStream({
    ...tools,
    encodingRoom: ENDLESS_ROOM,
    name: 'bench',
    id: 'feed',
    source,
    segments,
    renditions,
    stallMs: 15_000,
  })
  const before = process.cpuUsage()
  const startedAt = performance.now()
  source.tracks(tracks)
  for (const frame of frames) {
    while (performance.now() - startedAt < frame.decodeTimeUs / 1000) await delay(5)
    source.frame(frame)
  }
  source.end()
  await stream.hls.until(() => renditions.every(({ height }) => stream.hls.facts(`v${height}`)?.ended === true), 20_000)
  const { user, system } = process.cpuUsage(before)
  await stream.stop()
  const encoder = renditions.length === 0 ? 0 : timed.seconds() / SECONDS
  return { encoder, node: (user + system) / 1e6 / SECONDS }
}

/** Cores of the same encoders. */
function bare(): number {
  const file = join(folder, 'feed.mkv')
  const writer = new MatroskaWriter(tracks)
  writeFileSync(file, Buffer.concat([writer.head(), ...frames.map((frame) => writer.frame(frame))]))
  const rungs = feedRungs(RENDITIONS, { width: 1280, height: 720 }, () => false).map(
    ({ name, bitrate, size }, index) => ({
      rung: { index, id: name, label: name, ...size, bitrate, frameRate: null },
      fromUs: null,
    }),
  )
  const args = followingArguments(rungs, X264).map((word) =>
    word === 'pipe:0' ? file : /^pipe:\d+$/.test(word) ? '/dev/null' : word,
  )
  execFileSync(timed.binary, ['-v', 'error', '-y', '-re', ...args])
  return timed.seconds() / SECONDS
}

try {
  // Without it the first figure would have the compiler's work.
  await watched([])
  const [plain, laddered, peer] = [await watched([]), await watched(RENDITIONS), bare()]
  const ratio = laddered.encoder / peer
  const detail = `${laddered.encoder.toFixed(3)} and ${peer.toFixed(3)} cores`
  report({
    what: 'ffmpeg of two renditions, of a bare one',
    ratio,
    target: `<= ${TARGET}`,
    met: ratio <= TARGET,
    detail,
  })
  const more = laddered.node - plain.node
  report({
    what: 'Sluice, more for two renditions',
    ratio: more / NODE_TARGET,
    target: `${NODE_TARGET} cores`,
    met: more <= NODE_TARGET,
    detail: `${more.toFixed(4)} cores`,
  })
} finally {
  rmSync(folder, { recursive: true })
}
