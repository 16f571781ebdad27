/**
 * The CPU time to send a feed on to a target, for each Mbit/s, over RTMP and over SRT, in the clear and encrypted: of a process
 * that hands out frames at their times, as those of a broadcast, beyond what it takes without a target. The listeners run in a
 * process of their own. Then what a target over RTMP that has stopped reading keeps in memory until it is given up.
 * Run: node bench/targets.ts [--dgram]   (SRT without the addon)
 */
import { fork } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import { systemClock } from '../src/base/clock.ts'
import { systemRandom } from '../src/base/random.ts'
import type { Frame, FrameSink } from '../src/media/frame.ts'
import type { SenderEnd, SenderMove } from '../src/media/publishing.ts'
import { RtmpSender } from '../src/media/rtmp/sender.ts'
import { runAddon } from '../src/media/srt/datagramRuns.ts'
import type { KeyBytes } from '../src/media/srt/keys.ts'
import { SrtTarget } from '../src/media/srt/target.ts'
import { listenFor } from '../test/media/rtmp/publications.ts'
import { listenForSrt } from '../test/media/srt/publications.ts'
import { silentLog } from '../test/support/log.ts'
import { broadcastFrames } from './lib/broadcast.ts'
import { median, report } from './lib/report.ts'

const SECONDS = 10
/** Before it measures, so that the code is compiled as it is after minutes of a broadcast. */
const WARM_SPEED = 5
const ROUNDS = 3
/** Percent of a core for each Mbit/s. */
const LIMIT = 0.3
/** For a target that never reads, bytes. */
const HELD_MAX = 10_000_000
const PASSPHRASE = 'a-passphrase-of-the-bench'

type Media = ReturnType<typeof broadcastFrames>

/** In seconds. */
interface Cost {
  readonly cpu: number
  readonly time: number
}

interface Ports {
  readonly rtmp: number
  readonly srt: number
}

interface Target extends FrameSink {
  readonly bytes: { readonly bytesOut: number }
}

interface Kind {
  readonly what: string
  readonly open: (ports: Ports) => Promise<Target>
}

const srt = (keyBytes: KeyBytes | null) => (ports: Ports) => openSrt(ports.srt, keyBytes)
const KINDS: readonly Kind[] = [
  { what: 'over RTMP', open: (ports) => openRtmp(ports.rtmp) },
  { what: 'over SRT in the clear', open: srt(null) },
  { what: 'over SRT with keys of 128 bits', open: srt(16) },
  { what: 'over SRT with keys of 256 bits', open: srt(32) },
]

if (process.argv[2] === '--listener') await listen()
else await measure()

async function listen(): Promise<void> {
  const [rtmp, srtListener] = await Promise.all([listenFor(), listenForSrt({ passphrase: PASSPHRASE })])
  process.on('disconnect', () => process.exit())
  process.send?.({ rtmp: rtmp.port, srt: srtListener.port })
}

async function measure(): Promise<void> {
  const listener = fork(import.meta.filename, ['--listener'])
  const [ports] = (await once(listener, 'message')) as [Ports]
  const media = broadcastFrames(SECONDS, ['-b:a', '128k'])
  for (const kind of KINDS) await send(await kind.open(ports), media, WARM_SPEED)
  const rounds: { percents: number[]; mbit: number }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const idle = await handOut(media, () => undefined)
    for (const [at, kind] of KINDS.entries()) {
      const { cost, mbit } = await send(await kind.open(ports), media)
      const percent = ((cost.cpu / cost.time - idle.cpu / idle.time) * 100) / mbit
      rounds[at] = { percents: [...(rounds[at]?.percents ?? []), percent], mbit }
    }
  }
  for (const [at, { what }] of KINDS.entries()) {
    const { percents = [], mbit = 0 } = rounds[at] ?? {}
    const percent = median(percents)
    const detail = `${percent.toFixed(2)}% of a core for each of ${mbit.toFixed(1)} Mbit/s`
    report({
      what: `a target ${what}, of the limit`,
      ratio: percent / LIMIT,
      target: '<= 1',
      met: percent <= LIMIT,
      detail,
    })
  }
  await hang(await openRtmp(ports.rtmp), media, () => listener.kill('SIGSTOP'))
  listener.kill('SIGKILL')
}

/** Sends to a target that stops reading, until it is given up. */
async function hang(target: RtmpSender, media: Media, stop: () => void): Promise<void> {
  target.tracks(media.tracks)
  const ticking = setInterval(() => target.tick(systemClock.monotonic()), 1000)
  stop()
  const before = process.memoryUsage().rss
  let [most, mostRss] = [0, 0]
  for (let turn = 0; turn < 2; turn++) {
    await handOut(media, (frame) => {
      const offsetUs = turn * SECONDS * 1_000_000
      target.frame({ ...frame, timeUs: frame.timeUs + offsetUs, decodeTimeUs: frame.decodeTimeUs + offsetUs })
      most = Math.max(most, target.waitingBytes)
      if (frame.key && frame.kind === 'video') mostRss = Math.max(mostRss, process.memoryUsage().rss - before)
    })
  }
  clearInterval(ticking)
  target.end()
  report({
    what: 'a target over RTMP that never reads, of the limit',
    ratio: most / HELD_MAX,
    target: '<= 1',
    met: most <= HELD_MAX,
    detail: `${(most / 1e6).toFixed(1)} MB wait at most, and the process has grown by ${(mostRss / 1e6).toFixed(1)} MB`,
  })
}

/** Hands each frame out at its time. */
async function handOut({ frames }: Media, to: (frame: Frame) => void, speed = 1): Promise<Cost> {
  const cpuBefore = process.cpuUsage()
  const [startMs, firstUs] = [performance.now(), frames[0]?.decodeTimeUs ?? 0]
  for (const frame of frames) {
    const waitMs = (frame.decodeTimeUs - firstUs) / 1000 / speed - (performance.now() - startMs)
    if (waitMs > 1) await systemClock.sleep(waitMs)
    to(frame)
  }
  const { user, system } = process.cpuUsage(cpuBefore)
  return { cpu: (user + system) / 1e6, time: (performance.now() - startMs) / 1000 }
}

async function send(target: Target, media: Media, speed = 1) {
  target.tracks(media.tracks)
  const bytesBefore = target.bytes.bytesOut
  const cost = await handOut(media, (frame) => target.frame(frame), speed)
  const mbit = ((target.bytes.bytesOut - bytesBefore) * 8) / 1e6 / cost.time
  target.end()
  return { cost, mbit }
}

/** What both senders are told with. */
function beginning() {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const ended = (how: SenderEnd | SenderMove): void => reject(new Error(JSON.stringify(how)))
  // An end that comes after the beginning is no failure of the bench.
  promise.catch(() => undefined)
  return { began: promise, events: { ready: resolve, accepted: () => undefined, ended } }
}

async function openRtmp(port: number): Promise<RtmpSender> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const { began, events } = beginning()
  const url = `rtmp://127.0.0.1:${port}/app`
  const parts = { socket, clock: systemClock, log: silentLog, random: systemRandom, app: 'app', url, key: 'bench' }
  const target = new RtmpSender({ ...parts, ...events })
  await began
  return target
}

async function openSrt(port: number, keyBytes: KeyBytes | null): Promise<SrtTarget> {
  const socket = createSocket('udp4')
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const { began, events } = beginning()
  const target = new SrtTarget({
    ...events,
    socket,
    runs: process.argv.includes('--dgram') ? null : await runAddon(),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    streamId: 'bench',
    passphrase: keyBytes === null ? null : PASSPHRASE,
    keyBytes: keyBytes ?? 16,
    latencyMs: 120,
  })
  await began
  return target
}
