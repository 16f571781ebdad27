/**
 * What a target that has stopped reading costs viewers: the delay of packets from a publisher over WHIP to viewers over WHEP,
 * with a target over RTSP whose process was stopped by SIGSTOP, with one that reads, and without a target. One server, publisher and
 * audience for all, in turns. A window begins when the kernel takes no more for the target that hangs, and ends after Sluice has given
 * it up and dials again. Delays of a busy machine differ more than these: so it also prints the processor time of the server and of
 * its media process. Prints each window as it ends; a round takes about 70 seconds.
 *   ROUNDS=5 node bench/hung-target.ts
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { RtspTarget } from '../test/support/rtspTarget.ts'
import { startAudience } from './lib/audience.ts'
import { median, p99, report } from './lib/report.ts'
import { startServer } from './lib/server.ts'
import { until } from '../test/support/until.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 5)
const BITRATE = 2_500_000
const VIEWERS = 20
const WINDOW_MS = 15_000
const SETTLE_MS = 5_000
const LIMIT = 1.05
const KINDS = ['without', 'reading', 'hung'] as const

type Kind = (typeof KINDS)[number]

interface Window {
  readonly p99: number
  /** Of a core, percent. */
  readonly main: number
  readonly media: number
}

/** The part of it that is read here. */
interface StreamOnAir {
  readonly restreams?: readonly { readonly bitrateOut?: number }[]
}

if (process.argv[2] === '--target') await listen()
else await measure()

async function listen(): Promise<void> {
  const target = await RtspTarget.start()
  process.on('message', () => process.send?.(target.isRecording))
  process.on('disconnect', () => process.exit())
  process.send?.(target.port)
}

async function measure(): Promise<void> {
  console.log(
    `  ${ROUNDS} rounds, and one before them, of ${KINDS.length} windows of ${WINDOW_MS / 1000} s: ${KINDS.join(', ')}`,
  )
  const target = fork(import.meta.filename, ['--target'])
  // Once it is stopped, it does not see that this process is gone.
  process.on('exit', () => target.kill('SIGKILL'))
  const [port] = (await once(target, 'message')) as [number]
  const takesMedia = async (): Promise<boolean> => {
    target.send('?')
    return ((await once(target, 'message')) as [boolean])[0]
  }
  const server = await startServer({ SLUICE_MEDIA_ALLOWED_NETWORKS: '127.0.0.0/8' })
  const audience = await startAudience()
  const streams = [{ streamName: 'bench' }]
  const publisher = await server.api('POST', '/api/publish_token', { label: 'bench', streams })
  const viewer = await server.api('POST', '/api/subscribe_token', { label: 'bench', streams })
  const restream = [{ url: `rtsp://127.0.0.1:${port}/bench` }]
  const set = (targets: object[]) => server.api('PUT', `/api/v2/publish_token/${publisher.id}`, { restream: targets })
  await audience.publish({ url: server.whip('bench'), token: publisher.token }, BITRATE)
  await audience.join({ url: server.whep('bench'), token: viewer.token, count: VIEWERS, atOnce: 4 })

  const isStuck = async (): Promise<boolean> => {
    const [stream] = (await server.api('GET', '/api/streams/live')) as unknown as StreamOnAir[]
    return stream?.restreams?.[0]?.bitrateOut === 0
  }
  const window = async (what: string): Promise<Window> => {
    const before = server.cpu()
    await audience.delays()
    await sleep(WINDOW_MS)
    const delays = await audience.delays()
    const percents = server.cpu().map((seconds, at) => ((seconds - (before[at] ?? 0)) * 100_000) / WINDOW_MS)
    const [main = Number.NaN, media = Number.NaN] = percents
    const measured = { p99: p99(delays), main, media }
    console.log(
      `  ${what}: p99 ${measured.p99.toFixed(2)} ms; main ${main.toFixed(1)}%, media ${media.toFixed(1)}% of a core`,
    )
    return measured
  }
  const rounds: Record<Kind, Window>[] = []
  for (let round = 0; round < ROUNDS + 1; round++) {
    await sleep(SETTLE_MS)
    const of = round === 0 ? 'before' : `round ${round}`
    const without = await window(`${of}, without`)
    await set(restream)
    await until(takesMedia, 'the target takes media')
    const reading = await window(`${of}, reading`)
    target.kill('SIGSTOP')
    await until(isStuck, 'the kernel takes no more for the target')
    const hung = await window(`${of}, hung`)
    // The first round compiles the code.
    if (round > 0) rounds.push({ without, reading, hung })
    await set([])
    target.kill('SIGCONT')
  }
  const ratio = median(rounds.map(({ without, hung }) => hung.p99 / without.p99))
  const each = (kind: Kind) => rounds.map((round) => round[kind].p99.toFixed(2)).join(', ')
  const cpu = (of: 'main' | 'media') =>
    KINDS.map((kind) => `${median(rounds.map((round) => round[kind][of])).toFixed(1)}% ${kind}`).join(', ')
  console.log(`  main process: ${cpu('main')}`)
  console.log(`  media process: ${cpu('media')}`)
  report({
    what: `p99 of the delay of packets to ${VIEWERS} viewers beside a target that hangs / without a target`,
    ratio,
    target: `<= ${LIMIT}`,
    met: ratio <= LIMIT,
    detail: `${each('hung')} ms; ${each('reading')} ms beside one that reads; ${each('without')} ms; load ${loadavg()[0]?.toFixed(1)}`,
  })
  await audience.stop()
  await server.stop()
  target.kill('SIGKILL')
}
