/**
 * The CPU time of a server that takes ten publishers over SRT, for each Mbit/s, beyond what it takes without them; and that of ten
 * `srt-live-transmit` of Debian (libsrt), which take the same media and write it to /dev/null. In the clear and with AES-128, in turns.
 * One process of ours sends to both.
 * Run: node bench/srt-ingest.ts
 */
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { findProgram, type Program } from '../test/proxies/programs.ts'
import { ownPort } from '../test/support/ownPort.ts'
import { until } from '../test/support/until.ts'
import { broadcastFrames } from './lib/broadcast.ts'
import { median, report } from './lib/report.ts'
import { type BenchServer, cpuSeconds, type PublishToken, startServer } from './lib/server.ts'
import { callOverSrt, ROUND_SECONDS, type SrtBroadcast } from './lib/srtEncoder.ts'

const PUBLISHERS = 10
const ROUNDS = 3
/** Until all are on the air, and what they run is compiled. */
const SETTLE_MS = 4000
const WINDOW_MS = 6000
/** Percent of a core for each Mbit/s. */
const LIMIT = 0.4
const RATIO_MAX = 2.5
const PASSPHRASE = 'a-passphrase-of-the-bench'
const streams = Array.from({ length: PUBLISHERS }, (_, at) => `bench-${at}`)

/** Percent of a core for each Mbit/s. */
interface Cost {
  readonly ours: number
  readonly libsrt: number
  /** Of all publishers, each second. */
  readonly mbit: number
}

/** Has the sender send to these addresses. Returns the bytes that it has sent there. */
type Tell = (what: readonly string[] | 'bytes') => Promise<number>

const transmit = findProgram('srt-live-transmit', ['srt-tools', 'libsrt1.5-openssl'])

if (process.argv[2] === '--sender') await sendAll()
else if (transmit === null) throw new Error('srt-live-transmit is not installed, and its Debian package cannot be had')
else await measure(transmit)

/** Sends to the addresses that it is told instead of those before. Answers with the bytes of all. */
async function sendAll(): Promise<void> {
  const media = broadcastFrames(ROUND_SECONDS, ['-b:a', '128k'])
  let calls: SrtBroadcast[] = []
  const told = async (what: readonly string[] | 'bytes'): Promise<void> => {
    if (what !== 'bytes') {
      for (const call of calls) call.end()
      calls = await Promise.all(what.map((address) => callOverSrt(address, media)))
    }
    process.send?.(calls.reduce((sum, call) => sum + call.bytes(), 0))
  }
  process.on('message', (what: readonly string[] | 'bytes') => void told(what))
  process.on('disconnect', () => process.exit())
  process.send?.(0)
}

async function measure(program: Program): Promise<void> {
  const sender = fork(import.meta.filename, ['--sender'])
  sender.once('exit', (status) => status !== 0 && process.exit(1))
  await once(sender, 'message')
  const tell: Tell = async (what) => {
    sender.send(what)
    return ((await once(sender, 'message')) as [number])[0]
  }
  const server = await startServer()
  const token = await server.api('POST', '/api/publish_token', {
    label: 'bench',
    streams: streams.map((streamName) => ({ streamName })),
    displaySrtPassphrase: true,
  })
  const { srtPassphrase: _, ...inTheClear } = token
  for (const [way, published] of [['in the clear', inTheClear] as const, ['with AES-128', token] as const]) {
    const costs: Cost[] = []
    // The first round compiles the code.
    for (let round = 0; round <= ROUNDS; round++) {
      const cost = await compare(tell, { server, published, program })
      if (round > 0) costs.push(cost)
      console.log(`  ${way}, ${round === 0 ? 'before' : `round ${round}`}: ${textOf(cost)}`)
    }
    reportCosts(way, costs)
  }
  await server.stop()
  sender.disconnect()
}

interface Contenders {
  readonly server: BenchServer
  readonly published: PublishToken
  readonly program: Program
}

async function compare(tell: Tell, { server, published, program }: Contenders): Promise<Cost> {
  const serverCpu = (): number => server.cpu().reduce((sum, one) => sum + one, 0)
  await tell([])
  const idle = await window(tell, serverCpu)
  await tell(streams.map((stream) => server.srt(stream, published)))
  const taking = await window(tell, serverCpu)
  const transmitters = await startTransmitters(program, published.srtPassphrase !== undefined)
  await tell(transmitters.addresses)
  const libsrt = await window(tell, transmitters.cpu)
  await tell([])
  await transmitters.end()
  const mbit = taking.mbit / taking.seconds
  return {
    mbit,
    ours: ((taking.cpu / taking.seconds - idle.cpu / idle.seconds) * 100) / mbit,
    libsrt: (libsrt.cpu * 100) / libsrt.mbit,
  }
}

/** What is used, and sent, once all has settled. */
async function window(tell: Tell, cpu: () => number) {
  await sleep(SETTLE_MS)
  const [cpuBefore, bytesBefore, startMs] = [cpu(), await tell('bytes'), performance.now()]
  await sleep(WINDOW_MS)
  const mbit = (((await tell('bytes')) - bytesBefore) * 8) / 1e6
  return { cpu: cpu() - cpuBefore, mbit, seconds: (performance.now() - startMs) / 1000 }
}

/** One for each publisher, as it takes one caller. */
async function startTransmitters({ path, env }: Program, isEncrypted: boolean) {
  const ports = await Promise.all(streams.map(() => ownPort()))
  const query = isEncrypted ? `&passphrase=${PASSPHRASE}&pbkeylen=16` : ''
  const children = ports.map((port) =>
    spawn(path, ['-chunk:1316', `srt://127.0.0.1:${port}?mode=listener${query}`, 'file://con'], {
      env,
      stdio: 'ignore',
    }),
  )
  await until(() => ports.every(isListening), 'each srt-live-transmit listens')
  return {
    addresses: ports.map((port) => `srt://127.0.0.1:${port}?streamid=bench${query}`),
    cpu: () => children.reduce((sum, { pid = 0 }) => sum + cpuSeconds(pid), 0),
    async end() {
      const left = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
      const ended = left.map((child) => once(child, 'exit'))
      for (const child of left) child.kill()
      await Promise.all(ended)
    },
  }
}

function isListening(port: number): boolean {
  const bound = `:${port.toString(16).toUpperCase().padStart(4, '0')} `
  return readFileSync('/proc/net/udp', 'utf8').includes(bound)
}

function reportCosts(way: string, costs: readonly Cost[]): void {
  const [ours, libsrt] = [median(costs.map((cost) => cost.ours)), median(costs.map((cost) => cost.libsrt))]
  const detail = textOf({ ours, libsrt, mbit: median(costs.map((cost) => cost.mbit)) })
  const what = `${PUBLISHERS} publishers over SRT ${way}`
  report({ what: `${what}, of the limit`, ratio: ours / LIMIT, target: '<= 1', met: ours <= LIMIT, detail })
  const ratio = median(costs.map((cost) => cost.ours / cost.libsrt))
  report({ what: `${what} / srt-live-transmit`, ratio, target: `<= ${RATIO_MAX}`, met: ratio <= RATIO_MAX, detail })
}

function textOf({ ours, libsrt, mbit }: Cost): string {
  return `${ours.toFixed(2)}% of a core for each of ${mbit.toFixed(1)} Mbit/s; srt-live-transmit ${libsrt.toFixed(2)}%`
}
