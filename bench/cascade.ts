/**
 * A stream that is published at one node and watched at two others, each in processes of its own. Requests and links between them go by
 * a network with a round trip, and packets of links get lost. How long a viewer waits for the first packet at a node that does not have
 * the stream yet, and at one that has it, against a viewer of the first node; how much later packets come; what is missing; what viewers
 * elsewhere cost the node of the stream; how often a browser at another node sees a freeze.
 *   VIEWERS=50 ROUND_TRIP=60 SECONDS=20 node bench/cascade.ts
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openBrowser } from '../test/e2e/browser.ts'
import { servePages } from '../test/e2e/pages.ts'
import { Peer } from '../test/e2e/peer.ts'
import { lossyLink } from '../test/support/lossyUdp.ts'
import { ownPort } from '../test/support/ownPort.ts'
import { until } from '../test/support/until.ts'
import { startAudience } from './lib/audience.ts'
import { startCluster } from './lib/cluster.ts'
import { farTcp } from './lib/farTcp.ts'
import { median, report } from './lib/report.ts'
import type { BenchServer } from './lib/server.ts'

/** At each of the two other nodes. */
const VIEWERS = Number(process.env['VIEWERS'] ?? 50)
const ROUND_TRIP_MS = Number(process.env['ROUND_TRIP'] ?? 60)
const SECONDS = Number(process.env['SECONDS'] ?? 20)
const LOSSES = [0, 0.03, 0.08] as const
const BITRATE = 1_000_000
const [COLD_STREAMS, COLD_BITRATE] = [5, 300_000]
const MEASURE_MS = 10_000
const SETTLE_MS = 3000
/** Viewers who join one after another, of which the median is taken. */
const JOINS = 9
/** Where the node of the stream listens, and the network in front of it. */
const [HOME, NETWORK] = ['127.0.1.1', '127.0.2.1']
/** Beside the round trip. */
const COLD_MS = 150
const WARM_MS = 60
const ADDED_MS = 3
const CPU_RATIO = 1.3

/** `most`: what the ratio may be. */
const show = ({ most, ...line }: { what: string; ratio: number; most: number; detail: string }): void =>
  report({ ...line, target: `at most ${most}`, met: line.ratio <= most })

const mediaPort = await ownPort()
const network = await lossyLink(mediaPort, 1, { targetAddress: HOME, address: NETWORK, port: mediaPort })
network.delay(ROUND_TRIP_MS / 2)
/** For the browser that publishes. */
const direct = await lossyLink(mediaPort, 2, { targetAddress: HOME })
const [cluster, browser, pages] = await Promise.all([startCluster(3, settingsOf), openBrowser(), servePages()])
const [home, ...edges] = cluster.nodes as [BenchServer, ...BenchServer[]]
const local = await startAudience()
const elsewhere = await Promise.all(edges.map((edge) => startAudience().then((audience) => ({ edge, audience }))))
const streams = [{ streamName: '.*', isRegex: true }]
const { token } = await home.api('POST', '/api/publish_token', { label: 'bench', streams })

async function settingsOf(at: number, port: number): Promise<Record<string, string>> {
  const alone = { SLUICE_WEBRTC_PROCESSES: '1' }
  if (at > 0) return { ...alone, SLUICE_WEBRTC_PORT: '0' }
  return {
    ...alone,
    SLUICE_WEBRTC_HOST: HOME,
    SLUICE_WEBRTC_PORT: String(mediaPort),
    SLUICE_WEBRTC_PUBLIC_ADDRESSES: NETWORK,
    SLUICE_SERVER_NODE_URL: `http://127.0.0.1:${await farTcp(port, ROUND_TRIP_MS)}`,
  }
}

const pageOf = (): Promise<Peer> => Peer.open(browser, pages.origin('page.test'))

/** Streams that every node knows of, and none has but the first. */
async function publish(names: readonly string[], bitrate: number): Promise<void> {
  for (const name of names) await local.publish({ url: home.whip(name), token, mediaAddress: HOME }, bitrate)
  await sleep(SETTLE_MS)
}

async function end(stream: string): Promise<void> {
  await home.api('POST', '/api/stream/stop', {
    streamId: new URL(home.whep(stream)).pathname.slice('/api/whep/'.length),
  })
  for (const audience of [local, ...elsewhere.map((one) => one.audience)]) await audience.leave(false)
}

/** Of the media process of the first node, percent of a core. */
async function homeCpu(): Promise<number> {
  const [, before = 0] = home.cpu()
  await sleep(MEASURE_MS)
  const [, after = 0] = home.cpu()
  return (100_000 * (after - before)) / MEASURE_MS
}

// Processes start here, and code is compiled, not in what is measured.
await publish(['warm'], BITRATE)
for (const { edge, audience } of elsewhere) await audience.join({ url: edge.whep('warm'), count: JOINS, atOnce: 1 })
await local.join({ url: home.whep('warm'), mediaAddress: HOME, count: JOINS, atOnce: 1 })
await end('warm')

/** Of several streams at each node, each for the first time, how long the first packet takes. */
async function coldJoins(loss: number): Promise<number[]> {
  const names = Array.from({ length: COLD_STREAMS }, (_, at) => `cold-${loss * 100}-${at}`)
  await publish(names, COLD_BITRATE)
  const took: number[] = []
  for (const name of names)
    for (const { edge, audience } of elsewhere)
      took.push(...(await audience.join({ url: edge.whep(name), count: 1, atOnce: 1 })))
  for (const name of names) await end(name)
  return took
}

let freezesWithoutLoss = 0
for (const loss of LOSSES) {
  const over = `${ROUND_TRIP_MS} ms of round trip, ${loss * 100}% lost`
  const stream = `bench-${loss * 100}`
  network.lose(loss)
  const cold = await coldJoins(loss)
  await publish([stream], BITRATE)
  const here = median(await local.join({ url: home.whep(stream), mediaAddress: HOME, count: JOINS, atOnce: 1 }))
  for (const { edge, audience } of elsewhere) await audience.join({ url: edge.whep(stream), count: 1, atOnce: 1 })
  const few = await homeCpu()
  const warm: number[] = []
  for (const { edge, audience } of elsewhere) {
    warm.push(...(await audience.join({ url: edge.whep(stream), count: JOINS, atOnce: 1 })))
    await audience.join({ url: edge.whep(stream), count: Math.max(0, VIEWERS - 1 - JOINS), atOnce: 4 })
  }
  await sleep(SETTLE_MS)
  const audiences = [local, ...elsewhere.map(({ audience }) => audience)]
  for (const audience of audiences) await audience.delays()
  const many = await homeCpu()
  const [localMs = Number.NaN, ...edgeMs] = await Promise.all(audiences.map(async (one) => median(await one.delays())))
  const received = await Promise.all(elsewhere.map(({ audience }) => audience.received()))
  const links = await home.metric('sluice_links{direction="out"}')
  show({
    what: `First packet at a cold node, ${over}`,
    ratio: (median(cold) - here) / (ROUND_TRIP_MS + COLD_MS),
    most: 1,
    detail: `${median(cold).toFixed(0)} ms, ${here.toFixed(0)} ms at the node of the stream`,
  })
  show({
    what: `First packet at a warm node, ${over}`,
    ratio: (median(warm) - here) / WARM_MS,
    most: 1,
    detail: `${median(warm).toFixed(0)} ms`,
  })
  const added = median(edgeMs) - localMs
  show({
    what: `Added delay, p50, ${over}`,
    ratio: added / (ROUND_TRIP_MS / 2 + ADDED_MS),
    most: 1,
    detail: `${added.toFixed(1)} ms`,
  })
  const all = VIEWERS * edges.length
  show({
    what: `Processor time of the node of the stream, ${all} viewers elsewhere / 2, ${over}`,
    ratio: many / few,
    most: CPU_RATIO,
    detail: `${many.toFixed(1)} and ${few.toFixed(1)}% of a core`,
  })
  const [missing, packets] = [
    received.reduce((sum, one) => sum + one.missing, 0),
    received.reduce((sum, one) => sum + one.packets, 0),
  ]
  show({
    what: `Packets missing at viewers elsewhere, ${over}`,
    ratio: missing / (packets / 1000),
    most: 1,
    detail: `${missing} of ${packets}`,
  })
  report({
    what: `Links of one stream at ${edges.length} nodes`,
    ratio: links,
    target: `${edges.length}`,
    met: links === edges.length,
    detail: over,
  })
  await freezes(loss, over)
  await end(stream)
}

/** Of a browser at another node, beside the viewers that are there. */
async function freezes(loss: number, over: string): Promise<void> {
  const stream = `film-${loss * 100}`
  const [publisher, viewer] = [await pageOf(), await pageOf()]
  await publisher.through(direct.port)
  const answer = await publisher.publish({ url: home.whip(stream), token, codec: 'vp8', scale: 0.5 })
  if (answer !== 'ok') throw new Error(answer)
  await until(async () => (await viewer.watch({ url: edges[0]?.whep(stream) ?? '' })) === 'ok')
  await sleep(SETTLE_MS)
  const [before, shownBefore] = [await viewer.quality(), await viewer.figures()]
  await sleep(SECONDS * 1000)
  const [after, shown] = [await viewer.quality(), await viewer.figures()]
  await Promise.all([publisher.stop(), viewer.stop()])
  const count = after.freezeCount - before.freezeCount
  const frozenMs = 1000 * (after.totalFreezesDuration - before.totalFreezesDuration)
  if (loss === 0) freezesWithoutLoss = count
  report({
    what: `Freezes in ${SECONDS} s of a browser at another node, ${over}`,
    ratio: count,
    target: loss === 0.03 ? 'no more than without loss' : 'none',
    met: loss !== 0.03 || count <= freezesWithoutLoss,
    detail: `${frozenMs.toFixed(0)} ms frozen, ${shown.frames - shownBefore.frames} frames`,
  })
}

for (const { audience } of elsewhere) await audience.stop()
await local.stop()
await browser.close()
await pages.close()
for (const one of [network, direct]) one.close()
await cluster.stop()
process.exit()
