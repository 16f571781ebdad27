/**
 * How fast a deleted token ends its sessions: 200 viewers watch one broadcast over WHEP with one token, which is then
 * deleted. Measures for each viewer the time from the server's answer to the last media packet. With `--srt`: 40 encoders
 * broadcast over SRT with one token, five times; the time to the message that ends each connection. With `--nodes`: 1,000 viewers at
 * as many nodes, and the token is deleted at the last of them; then bytes of sessions, usage and sockets are compared.
 *   VIEWERS=200 node bench/revocation.ts [--srt | --nodes 3]
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { readCommandLine } from '../scripts/commandLine.ts'
import { until } from '../test/support/until.ts'
import { startAudience } from './lib/audience.ts'
import { type Cluster, startCluster } from './lib/cluster.ts'
import { callOverSrt, smallBroadcast } from './lib/srtEncoder.ts'
import { report } from './lib/report.ts'
import { type BenchServer, startServer } from './lib/server.ts'

const { values: options } = readCommandLine({ options: { srt: { type: 'boolean' }, nodes: { type: 'string' } } })
const VIEWERS = Number(process.env['VIEWERS'] ?? (options.nodes === undefined ? 200 : 1000))
const ENCODERS = 40
const ROUNDS = 5
/** About 9,000 packets a second: few enough that the viewers' process is not the bottleneck. */
const BITRATE = 400_000
/** For a thousand viewers on the processors of three nodes. */
const LOW_BITRATE = 100_000
const MOST_MS = 200
/** At every node, wherever the token is deleted. */
const MOST_ELSEWHERE_MS = 1000
/** How far sums of bytes may differ. */
const SUMS_DIFFER = 0.02
const AFTER_MS = 2000

const now = (): number => performance.timeOrigin + performance.now()
const inMs = (ms: number): string => `${ms.toFixed(1)} ms`

if (options.nodes === undefined) await alone()
else await together(Number(options.nodes))
process.exit()

async function alone(): Promise<void> {
  const server = await startServer()
  await (options.srt === true ? encoders(server) : viewers(server))
  await server.stop()
}

async function viewers(server: BenchServer): Promise<void> {
  const audience = await startAudience()
  const streams = [{ streamName: 'bench' }]
  const publisher = await server.api('POST', '/api/publish_token', { label: 'b', streams, subscribeRequiresAuth: true })
  const viewer = await server.api('POST', '/api/subscribe_token', { label: 'b', streams })
  await audience.publish({ url: server.whip('bench'), token: publisher.token }, BITRATE)
  await audience.join({ url: server.whep('bench'), token: viewer.token, count: VIEWERS, atOnce: 8 })
  await sleep(AFTER_MS)

  const askedMs = now()
  await server.api('DELETE', `/api/subscribe_token/${viewer.id}`)
  const answeredMs = now()
  await sleep(AFTER_MS)
  const last = await audience.lastMedia()
  const watching = last.filter((ms) => ms > askedMs - 1000).length
  judge('Last media after a token is deleted', `${VIEWERS} viewers`, watching === VIEWERS, {
    late: last.map((ms) => ms - answeredMs),
    detail: `which took ${inMs(answeredMs - askedMs)}; ${watching} of ${VIEWERS} were watching until then`,
  })
  await audience.stop()
}

async function encoders(server: BenchServer): Promise<void> {
  const media = smallBroadcast()
  const late: number[] = []
  let asking = 0
  for (let round = 0; round < ROUNDS; round++) {
    const streams = Array.from({ length: ENCODERS }, (_, at) => ({ streamName: `bench-${at}` }))
    const token = await server.api('POST', '/api/publish_token', { label: 'b', streams, displaySrtPassphrase: true })
    const calls = []
    for (const { streamName } of streams) calls.push(await callOverSrt(server.srt(streamName, token), media))
    await sleep(AFTER_MS)

    const askedMs = now()
    await server.api('DELETE', `/api/publish_token/${token.id}`)
    const answeredMs = now()
    asking = Math.max(asking, answeredMs - askedMs)
    for (const { ended } of calls) late.push((await ended) - answeredMs)
  }
  judge('The end of a broadcast over SRT after its token is deleted', `${ENCODERS} encoders at once`, true, {
    late,
    detail: `which took ${inMs(asking)} at most; ${late.length} ends`,
  })
}

async function together(count: number): Promise<void> {
  const cluster = await startCluster(count)
  const { nodes } = cluster
  const [home, last] = [nodes[0], nodes.at(-1)]
  if (home === undefined || last === undefined) throw new Error('there is no node')
  const audiences = await Promise.all(nodes.map(() => startAudience()))
  const streams = [{ streamName: 'bench' }]
  const publisher = await home.api('POST', '/api/publish_token', { label: 'b', streams, subscribeRequiresAuth: true })
  const viewer = await home.api('POST', '/api/subscribe_token', { label: 'b', streams })
  await audiences[0]?.publish({ url: home.whip('bench'), token: publisher.token }, LOW_BITRATE)
  const each = Math.ceil(VIEWERS / count)
  for (const [at, audience] of audiences.entries())
    await audience.join({ url: nodes[at]?.whep('bench') ?? '', token: viewer.token, count: each, atOnce: 4 })
  await sleep(AFTER_MS)
  const links = await home.metric('sluice_links{direction="out"}')

  const askedMs = now()
  await last.api('DELETE', `/api/subscribe_token/${viewer.id}`)
  const answeredMs = now()
  await sleep(AFTER_MS)
  const lastMedia = await Promise.all(audiences.map((audience) => audience.lastMedia()))
  const watching = lastMedia.flat().filter((ms) => ms > askedMs - 1000).length
  for (const [at, ofNode] of lastMedia.entries())
    judge(
      `Last media at node ${at + 1} of ${count} after a token is deleted at node ${count}`,
      `${each} viewers`,
      true,
      {
        late: ofNode.map((ms) => ms - askedMs),
        since: 'request',
        mostMs: MOST_ELSEWHERE_MS,
        detail: `which took ${inMs(answeredMs - askedMs)}`,
      },
    )
  judge('Last media at all nodes', `${each * count} viewers`, watching === each * count, {
    late: lastMedia.flat().map((ms) => ms - askedMs),
    since: 'request',
    mostMs: MOST_ELSEWHERE_MS,
    detail: `${watching} were watching until then, by ${links} links`,
  })
  const received = await Promise.all(audiences.map((audience) => audience.received()))
  await compareSums(
    cluster,
    received.reduce((sum, { bytes }) => sum + bytes, 0),
  )
  for (const audience of audiences) await audience.stop()
  await cluster.stop()
}

/** Sums of the viewers' sessions, of usage, and of what came to the sockets of the viewers. */
async function compareSums(cluster: Cluster, socketBytes: number): Promise<void> {
  const numberOf = async (sql: string): Promise<number> => Number((await cluster.query(sql))[0]?.['n'])
  const ofViewers = `from sessions where stream_name = 'bench' and action = 'view'`
  await until(async () => (await numberOf(`select count(*) as n ${ofViewers} and ended_at_ms is null`)) === 0)
  const sessions = await numberOf(`select sum(bytes_out) as n ${ofViewers}`)
  const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
  const path = `/api/analytics/streams/total?startDate=${day(-1)}&stopDate=${day(1)}&streamNames=bench`
  // Each node adds its hour to the sums in its turn.
  const usage = await until(async () => {
    const total = await cluster.nodes[0]?.api<Record<string, { bytesOut: number }>>('GET', path)
    const bytes = total?.['bench']?.bytesOut ?? 0
    return bytes >= sessions && bytes
  })
  for (const [what, bytes] of [
    ['usage', usage],
    ['sockets', socketBytes],
  ] as const)
    report({
      what: `Bytes of ${what} / of sessions`,
      ratio: bytes / sessions,
      target: `within ${SUMS_DIFFER * 100}%`,
      met: Math.abs(bytes / sessions - 1) <= SUMS_DIFFER,
      detail: `${(bytes / 1e6).toFixed(1)} and ${(sessions / 1e6).toFixed(1)} MB`,
    })
}

interface Late {
  /** Of each viewer, milliseconds after the server's answer, or after the request. */
  readonly late: readonly number[]
  readonly detail: string
  readonly mostMs?: number
  readonly since?: 'answer' | 'request'
}

function judge(
  what: string,
  of: string,
  isWhole: boolean,
  { late, detail, mostMs = MOST_MS, since = 'answer' }: Late,
): void {
  const sorted = late.map((ms) => Math.max(0, ms)).toSorted((a, b) => a - b)
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  const ratio = at(0.99) / mostMs
  report({
    what: `${what}, ${of}, p99 / ${mostMs} ms`,
    ratio,
    target: 'at most 1',
    met: ratio <= 1 && isWhole,
    detail: `p99 ${inMs(at(0.99))}, p50 ${inMs(at(0.5))}, most ${inMs(at(1))} after the ${since}, ${detail}`,
  })
}
