/**
 * The CPU time to send a feed on to a target over SRT, for each Mbit/s, in the clear and encrypted: of a process that hands
 * out frames at their times, as those of a broadcast, beyond what it takes without a target. The listener runs in a process
 * of its own. Run: node bench/srt-target.ts [--dgram]   (without the addon)
 */
import { fork } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { systemClock } from '../src/base/clock.ts'
import { systemRandom } from '../src/base/random.ts'
import type { Frame } from '../src/media/frame.ts'
import { runAddon } from '../src/media/srt/datagramRuns.ts'
import type { KeyBytes } from '../src/media/srt/keys.ts'
import { SrtTarget } from '../src/media/srt/target.ts'
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
const PASSPHRASE = 'a-passphrase-of-the-bench'
const KINDS = [null, 16, 32] as const

type Media = ReturnType<typeof broadcastFrames>

/** In seconds. */
interface Cost {
  readonly cpu: number
  readonly time: number
}

if (process.argv[2] === '--listener') await listen()
else await measure()

async function listen(): Promise<void> {
  const { port } = await listenForSrt({ passphrase: PASSPHRASE })
  process.on('disconnect', () => process.exit())
  process.send?.(port)
}

async function measure(): Promise<void> {
  const listener = fork(import.meta.filename, ['--listener'])
  const [port] = (await once(listener, 'message')) as [number]
  const media = broadcastFrames(SECONDS, ['-b:a', '128k'])
  for (const keyBytes of KINDS) await send(port, media, keyBytes, WARM_SPEED)
  const rounds: { percents: number[]; mbit: number }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const idle = await handOut(media, () => undefined)
    for (const [at, keyBytes] of KINDS.entries()) {
      const { cost, mbit } = await send(port, media, keyBytes)
      const percent = ((cost.cpu / cost.time - idle.cpu / idle.time) * 100) / mbit
      rounds[at] = { percents: [...(rounds[at]?.percents ?? []), percent], mbit }
    }
  }
  for (const [at, keyBytes] of KINDS.entries()) {
    const { percents = [], mbit = 0 } = rounds[at] ?? {}
    const percent = median(percents)
    const what = keyBytes === null ? 'in the clear' : `with keys of ${keyBytes * 8} bits`
    const detail = `${percent.toFixed(2)}% of a core for each of ${mbit.toFixed(1)} Mbit/s`
    report({
      what: `a target ${what}, of the limit`,
      ratio: percent / LIMIT,
      target: '<= 1',
      met: percent <= LIMIT,
      detail,
    })
  }
  listener.disconnect()
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

async function send(port: number, media: Media, keyBytes: KeyBytes | null, speed = 1) {
  const socket = createSocket('udp4')
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const ready = Promise.withResolvers<void>()
  const target = new SrtTarget({
    socket,
    runs: process.argv.includes('--dgram') ? null : await runAddon(),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    streamId: 'bench',
    passphrase: keyBytes === null ? null : PASSPHRASE,
    keyBytes: keyBytes ?? 16,
    latencyMs: 120,
    ready: ready.resolve,
    accepted: () => undefined,
    ended: ({ message }) => ready.reject(new Error(message)),
  })
  await ready.promise
  target.tracks(media.tracks)
  const bytesBefore = target.bytes.bytesOut
  const cost = await handOut(media, (frame) => target.frame(frame), speed)
  const mbit = ((target.bytes.bytesOut - bytesBefore) * 8) / 1e6 / cost.time
  target.end()
  return { cost, mbit }
}
