/**
 * The cost of viewers that come and go over WHEP. First many join one after another, with at most 50 at a time; then
 * many join at once, several times, since one crowd is up to a third faster or slower than the next. All leave
 * afterwards. Measures the time from the offer to the first packet. Also measures the resident memory of the server and
 * its relay processes after this churn, against their memory after a warm-up with as many: a heap of V8 grows to what its
 * load needs, and only what grows on with more viewers of the same load is lost.
 *   JOINS=2000 AT_ONCE=200 node bench/joins.ts
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { startAudience } from './lib/audience.ts'
import { median, report } from './lib/report.ts'
import { startServer } from './lib/server.ts'

const JOINS = Number(process.env['JOINS'] ?? 2000)
const AT_ONCE = Number(process.env['AT_ONCE'] ?? 200)
const CROWDS = 7
/** Viewers that stay until they leave together. */
const STAY = 50
const BITRATE = 400_000
/** Time to drop ended sessions and to collect garbage. */
const SETTLE_MS = 5000
const FIRST_PACKET_MS = 300
const GROWTH = 1.1

const server = await startServer({ SLUICE_SESSIONS_MAX_VIEWERS_PER_ADDRESS: '0' })
const audience = await startAudience()
const streams = [{ streamName: 'bench' }]
const publisher = await server.api('POST', '/api/publish_token', { label: 'b', streams, subscribeRequiresAuth: true })
const { token } = await server.api('POST', '/api/subscribe_token', { label: 'b', streams })
await audience.publish({ url: server.whip('bench'), token: publisher.token }, BITRATE)

async function comeAndGo(count: number, atOnce: number): Promise<number[]> {
  const took = await audience.join({ url: server.whep('bench'), token, count, atOnce })
  await audience.leave()
  return took
}

async function oneAfterAnother(count: number): Promise<number[]> {
  const took: number[] = []
  while (took.length < count) took.push(...(await comeAndGo(Math.min(STAY, count - took.length), 1)))
  return took
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const summary = (memory: readonly number[]): string => `${memory.map((one) => one.toFixed(0)).join(' + ')} MiB`

async function settledMemory(): Promise<number[]> {
  await sleep(SETTLE_MS)
  return server.memory()
}

async function crowds(): Promise<number[]> {
  const took: number[] = []
  for (let crowd = 0; crowd < CROWDS; crowd++) took.push(...(await comeAndGo(AT_ONCE, AT_ONCE)))
  return took
}

await oneAfterAnother(JOINS)
await crowds()
const before = await settledMemory()
const alone = await oneAfterAnother(JOINS)
const together = await crowds()
const after = await settledMemory()

const middle = median(alone)
report({
  what: `Offer to first packet, ${JOINS} joins one after another, p50 / ${FIRST_PACKET_MS} ms`,
  ratio: middle / FIRST_PACKET_MS,
  target: 'at most 1',
  met: middle <= FIRST_PACKET_MS,
  detail: `p50 ${middle.toFixed(0)} ms, most ${Math.max(...alone).toFixed(0)} ms`,
})
report({
  what: `Offer to first packet, ${AT_ONCE} at once, p50 / ${FIRST_PACKET_MS} ms`,
  ratio: median(together) / FIRST_PACKET_MS,
  target: 'none',
  met: true,
  detail: `p50 ${median(together).toFixed(0)} ms, most ${Math.max(...together).toFixed(0)} ms`,
})
report({
  what: 'Resident memory after viewers came and went / before',
  ratio: sum(after) / sum(before),
  target: `at most ${GROWTH}`,
  met: sum(after) <= sum(before) * GROWTH,
  detail: `server and relays ${summary(after)} after, ${summary(before)} before`,
})
await audience.stop()
await server.stop()
process.exit()
