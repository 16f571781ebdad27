/**
 * How fast a deleted token ends its sessions: 200 viewers watch one broadcast over WHEP with one token, which is then
 * deleted. Measures for each viewer the time from the server's answer to the last media packet.
 *   VIEWERS=200 node bench/revocation.ts
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { startAudience } from './lib/audience.ts'
import { report } from './lib/report.ts'
import { startServer } from './lib/server.ts'

const VIEWERS = Number(process.env['VIEWERS'] ?? 200)
/** About 9,000 packets a second: few enough that the viewers' process is not the bottleneck. */
const BITRATE = 400_000
const MOST_MS = 200
const AFTER_MS = 2000

const server = await startServer()
const audience = await startAudience()
const streams = [{ streamName: 'bench' }]
const publisher = await server.api('POST', '/api/publish_token', { label: 'b', streams, subscribeRequiresAuth: true })
const viewer = await server.api('POST', '/api/subscribe_token', { label: 'b', streams })
await audience.publish(server.whip('bench'), publisher.token, BITRATE)
await audience.join({ url: server.whep('bench'), token: viewer.token, count: VIEWERS, atOnce: 8 })
await sleep(AFTER_MS)

const askedMs = performance.timeOrigin + performance.now()
await server.api('DELETE', `/api/subscribe_token/${viewer.id}`)
const answeredMs = performance.timeOrigin + performance.now()
await sleep(AFTER_MS)
const last = await audience.lastMedia()
const watching = last.filter((ms) => ms > askedMs - 1000).length
const late = last.map((ms) => Math.max(0, ms - answeredMs)).toSorted((a, b) => a - b)
const at = (share: number): number => late[Math.min(late.length - 1, Math.floor(late.length * share))] ?? Number.NaN
const inMs = (ms: number): string => `${ms.toFixed(1)} ms`
const detail =
  `p99 ${inMs(at(0.99))}, p50 ${inMs(at(0.5))}, most ${inMs(at(1))} after the answer, which took ` +
  `${inMs(answeredMs - askedMs)}; ${watching} of ${VIEWERS} were watching until then`
const ratio = at(0.99) / MOST_MS
report({
  what: `Last media after a token is deleted, ${VIEWERS} viewers, p99 / ${MOST_MS} ms`,
  ratio,
  target: 'at most 1',
  met: ratio <= 1 && watching === VIEWERS,
  detail,
})
await audience.stop()
await server.stop()
process.exit()
