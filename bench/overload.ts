/**
 * What offers at a full node cost those who watch: the delay of packets from a publisher over WHIP to viewers over WHEP, and how
 * many arrive, while three newcomers for each viewer send an offer a second for 30 seconds, and without them. One server, publisher
 * and audience for both, in turns. The node is full by `server.maxEgressMegabits`.
 *   VIEWERS=40 ROUNDS=3 node bench/overload.ts
 */
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { Video } from 'node-datachannel'
import { startAudience } from './lib/audience.ts'
import { median, p99, report } from './lib/report.ts'
import { startServer } from './lib/server.ts'
import { connection, described } from './relay/load.ts'

const VIEWERS = Number(process.env['VIEWERS'] ?? 40)
const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const BITRATE = 1_000_000
const NEWCOMERS = 3 * VIEWERS
const EVERY_MS = 1000
const WINDOW_MS = 30_000
const SETTLE_MS = 3000
const LIMIT = 1.2

const server = await startServer({ SLUICE_SERVER_MAX_EGRESS_MEGABITS: String((VIEWERS * BITRATE) / 2e6) })
const audience = await startAudience()
const streams = [{ streamName: 'bench' }]
const publisher = await server.api('POST', '/api/publish_token', { label: 'bench', streams })
const { token } = await server.api('POST', '/api/subscribe_token', { label: 'bench', streams })
await audience.publish({ url: server.whip('bench'), token: publisher.token }, BITRATE)
// The rate is known five seconds later, so that all get in.
await audience.join({ url: server.whep('bench'), token, count: VIEWERS, atOnce: 8 })
const offer = await offerText()
while ((await statusOfOffer()) !== 503) await sleep(500)

interface Window {
  readonly p99: number
  readonly arrived: number
}
const rounds: { without: Window; beside: Window }[] = []
const statuses: number[] = []
for (let round = 0; round < ROUNDS + 1; round++) {
  const without = await window()
  const stopping = new AbortController()
  const offering = Promise.all(Array.from({ length: NEWCOMERS }, () => keepOffering(stopping.signal)))
  const beside = await window()
  stopping.abort()
  await offering
  // The first round compiles the code.
  if (round > 0) rounds.push({ without, beside })
}
const each = (of: 'without' | 'beside', show: (window: Window) => string) =>
  rounds.map((round) => show(round[of])).join(', ')
const shownMs = ({ p99 }: Window): string => p99.toFixed(2)
const late = median(rounds.map(({ beside, without }) => beside.p99 / without.p99))
report({
  what: `p99 of the delay of packets to ${VIEWERS} viewers beside ${NEWCOMERS} offers a second that are refused / without`,
  ratio: late,
  target: `<= ${LIMIT}`,
  met: late <= LIMIT,
  detail: `${each('beside', shownMs)} ms; ${each('without', shownMs)} ms; load ${loadavg()[0]?.toFixed(1)}`,
})
const arrived = median(rounds.map(({ beside, without }) => beside.arrived / without.arrived))
const refused = statuses.filter((status) => status === 503).length
report({
  what: 'Packets that arrive beside them / without',
  ratio: arrived,
  target: '>= 0.99',
  met: arrived >= 0.99 && refused === statuses.length,
  detail: `${each('beside', (one) => String(one.arrived))}; ${refused} of ${statuses.length} offers got 503`,
})
await audience.stop()
await server.stop()
process.exit()

async function window(): Promise<Window> {
  await sleep(SETTLE_MS)
  await audience.delays()
  await sleep(WINDOW_MS)
  const delays = await audience.delays()
  return { p99: p99(delays), arrived: delays.length }
}

async function offerText(): Promise<string> {
  const peer = connection('newcomer')
  const media = new Video('0', 'RecvOnly')
  media.addVP8Codec(96)
  peer.addTrack(media)
  const text = await described(peer, 'offer')
  peer.close()
  return text
}

async function statusOfOffer(): Promise<number> {
  const headers = { 'content-type': 'application/sdp', authorization: `Bearer ${token}` }
  const answer = await fetch(server.whep('bench'), { method: 'POST', headers, body: offer })
  await answer.arrayBuffer()
  return answer.status
}

/** A newcomer who does not wait as long as the answer asks. */
async function keepOffering(signal: AbortSignal): Promise<void> {
  await sleep(Math.random() * EVERY_MS)
  while (!signal.aborted) {
    statuses.push(await statusOfOffer())
    await sleep(EVERY_MS)
  }
}
