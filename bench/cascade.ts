/**
 * A stream that is published at one node and watched at two others, over links with a round trip and losses. How long the first
 * packet takes at a node that does not have the stream yet (without the request between nodes) and at one that has it, against a
 * viewer of the first node; how much later packets come; what is missing; what viewers elsewhere cost the node of the stream.
 *   VIEWERS=10 ROUND_TRIP=60 node bench/cascade.ts
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { processorTimeOf } from '../src/base/processors.ts'
import type { MediaEngine } from '../src/media/engine.ts'
import { createRelayEngine } from '../src/media/relay/processes/engine.ts'
import { silentLog } from '../test/support/log.ts'
import { type LossyLink, lossyLink } from '../test/support/lossyUdp.ts'
import { processIdsOf } from '../test/support/relayProcesses.ts'
import { publishTo, TestViewer } from '../test/support/rtcPeer.ts'
import { until } from '../test/support/until.ts'
import { median, report } from './lib/report.ts'

const ROOM = 'a1b2c3/show'
const VIEWERS = Number(process.env['VIEWERS'] ?? 10)
const ROUND_TRIP_MS = Number(process.env['ROUND_TRIP'] ?? 60)
const LOSSES = [0, 0.03, 0.08]
const MEASURE_MS = 5000
/** Beside the round trip. */
const COLD_MS = 150
const WARM_MS = 60
const ADDED_MS = 3
const CPU_RATIO = 1.3

/** `most`: what the ratio may be. */
const show = ({ most, ...line }: { what: string; ratio: number; most: number; detail: string }): void =>
  report({ ...line, target: `at most ${most}`, met: line.ratio <= most })

interface Watching {
  readonly viewer: TestViewer
  readonly firstMs: number
  /** By payload: when it came. */
  readonly arrivals: Map<string, number>
}

function engine(): MediaEngine {
  const config = { host: '127.0.0.1', udpPort: 0, processes: 1, publicAddresses: [], publisherSilentMs: 15_000 }
  const limits = { maxBitrate: 2_500_000, maxSessions: 1000 }
  return createRelayEngine({ log: silentLog, now: () => performance.now(), config: { ...config, ...limits } })
}

/** Lends the room to an edge by a network with this loss. */
async function link(home: MediaEngine, edge: MediaEngine, ssrc: number, loss: number): Promise<LossyLink> {
  const share = { room: ROOM, key: randomBytes(32), ssrc }
  const lent = await home.links?.lend(share, () => undefined)
  const network = await lossyLink(lent?.addresses[0]?.port ?? 0, ssrc)
  network.lose(loss)
  network.delay(ROUND_TRIP_MS / 2)
  const addresses = [{ address: '127.0.0.1', port: network.port }]
  if ((await edge.links?.borrow(share, addresses, () => undefined).open) !== true) throw new Error('there is no link')
  return network
}

/** @param prepare what the node does before it answers */
async function watch(
  at: MediaEngine,
  id: string,
  prepare: () => Promise<unknown> = async () => undefined,
): Promise<Watching> {
  const viewer = new TestViewer()
  const arrivals = new Map<string, number>()
  const offer = await viewer.offer()
  const startedMs = performance.now()
  viewer.pc.onTrack.subscribe((track) =>
    track.onReceiveRtp.subscribe(({ payload }) => void arrivals.set(payload.toString('latin1'), performance.now())),
  )
  await prepare()
  const answer = await at.view({ sessionId: id, room: ROOM, sourceId: null, offer })
  if (!answer.ok) throw new Error(answer.problem)
  await viewer.accept(answer.answer)
  await until(() => viewer.packets.length > 0)
  return { viewer, firstMs: performance.now() - startedMs, arrivals }
}

/** How many sequence numbers of a viewer are missing. Those that are sent again come out of order. */
function missing({ viewer: { packets } }: Watching): number {
  let highest = packets[0]?.header.sequenceNumber ?? 0
  const indexes = packets.map(({ header }) => {
    const ahead = (header.sequenceNumber - highest) & 0xffff
    const index = highest + (ahead < 0x8000 ? ahead : ahead - 0x10000)
    highest = Math.max(highest, index)
    return index
  })
  const first = indexes.reduce((least, index) => Math.min(least, index), highest)
  return highest - first + 1 - new Set(indexes).size
}

/** Payloads come again when the recording does: only those that came at both within a second are the same. */
function addedMs(first: Watching, second: Watching): number {
  const pairs = [...second.arrivals].flatMap(([payload, atMs]) => atMs - (first.arrivals.get(payload) ?? -Infinity))
  return median(pairs.filter((ms) => Math.abs(ms) < 500))
}

const cpuMs = async (pid: number): Promise<number> => {
  const before = (await processorTimeOf(pid)) ?? 0
  await sleep(MEASURE_MS)
  return ((await processorTimeOf(pid)) ?? 0) - before
}

for (const [round, loss] of LOSSES.entries()) {
  const [home, ...edges] = [engine(), engine(), engine()] as const
  const publisher = await publishTo(home, 'publisher')
  const [pid = 0] = processIdsOf(process.pid)
  // Processes start here, not in what is measured.
  const local = await watch(home, 'local')
  const starting = await Promise.all(edges.map((edge, at) => publishTo(edge, `other ${at}`, { room: 'other' })))
  const networks: LossyLink[] = []
  const cold: Watching[] = []
  for (const [at, edge] of edges.entries()) {
    const prepare = async (): Promise<unknown> =>
      networks.push(await link(home, edge, 2 ** 31 + round * 10 + at + 1, loss))
    cold.push(await watch(edge, `cold ${at}`, prepare))
  }
  const localAgain = await watch(home, 'local again')
  const few = await cpuMs(pid)
  const warm: Watching[] = []
  for (let at = 0; at < VIEWERS; at += 1) for (const edge of edges) warm.push(await watch(edge, `warm ${at}`))
  const many = await cpuMs(pid)
  const all = [...cold, ...warm]
  const over = `${ROUND_TRIP_MS} ms of round trip, ${loss * 100}% lost`
  const ofCold = median(cold.map(({ firstMs }) => firstMs)) - localAgain.firstMs
  show({
    what: `First packet at a cold node, ${over}`,
    ratio: ofCold / (ROUND_TRIP_MS + COLD_MS),
    most: 1,
    detail: `${ofCold.toFixed(0)} ms more than at the node of the stream`,
  })
  const ofWarm = median(warm.map(({ firstMs }) => firstMs)) - localAgain.firstMs
  show({
    what: `First packet at a warm node, ${over}`,
    ratio: ofWarm / WARM_MS,
    most: 1,
    detail: `${ofWarm.toFixed(0)} ms more`,
  })
  const added = median(cold.map((one) => addedMs(local, one)))
  show({
    what: `Added delay, p50, ${over}`,
    ratio: added / (ROUND_TRIP_MS / 2 + ADDED_MS),
    most: 1,
    detail: `${added.toFixed(1)} ms`,
  })
  show({
    what: `Processor time of the node of the stream, ${all.length} viewers elsewhere / 2, ${over}`,
    ratio: many / few,
    most: CPU_RATIO,
    detail: `${(many / (MEASURE_MS / 100)).toFixed(1)}% of a core`,
  })
  const lost = all.reduce((sum, one) => sum + missing(one), 0)
  const came = all.reduce((sum, { viewer }) => sum + viewer.packets.length, 0)
  show({
    what: `Packets missing at viewers elsewhere, ${over}`,
    ratio: lost / (came / 1000),
    most: 1,
    detail: `${lost} of ${came}; links: ${home.links?.counts.lent}`,
  })
  for (const one of [local, localAgain, ...all]) await one.viewer.close()
  for (const one of [publisher, ...starting]) await one.close()
  for (const network of networks) network.close()
  for (const one of [home, ...edges]) await one.stop()
}
