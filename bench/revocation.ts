/**
 * How fast a deleted token ends its sessions: 200 viewers watch one broadcast over WHEP with one token, which is then
 * deleted. Measures for each viewer the time from the server's answer to the last media packet. With `--srt`: 40 encoders
 * broadcast over SRT with one token, five times; the time to the message that ends each connection.
 *   VIEWERS=200 node bench/revocation.ts [--srt]
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { startAudience } from './lib/audience.ts'
import { callOverSrt, smallBroadcast } from './lib/srtEncoder.ts'
import { report } from './lib/report.ts'
import { startServer } from './lib/server.ts'

const VIEWERS = Number(process.env['VIEWERS'] ?? 200)
const ENCODERS = 40
const ROUNDS = 5
/** About 9,000 packets a second: few enough that the viewers' process is not the bottleneck. */
const BITRATE = 400_000
const MOST_MS = 200
const AFTER_MS = 2000

const now = (): number => performance.timeOrigin + performance.now()
const inMs = (ms: number): string => `${ms.toFixed(1)} ms`

const server = await startServer()
await (process.argv.includes('--srt') ? encoders() : viewers())
await server.stop()
process.exit()

async function viewers(): Promise<void> {
  const audience = await startAudience()
  const streams = [{ streamName: 'bench' }]
  const publisher = await server.api('POST', '/api/publish_token', { label: 'b', streams, subscribeRequiresAuth: true })
  const viewer = await server.api('POST', '/api/subscribe_token', { label: 'b', streams })
  await audience.publish(server.whip('bench'), publisher.token, BITRATE)
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

async function encoders(): Promise<void> {
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

/** Of milliseconds after the server's answer. */
function judge(what: string, of: string, isWhole: boolean, { late, detail }: { late: number[]; detail: string }): void {
  const sorted = late.map((ms) => Math.max(0, ms)).toSorted((a, b) => a - b)
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  const ratio = at(0.99) / MOST_MS
  report({
    what: `${what}, ${of}, p99 / ${MOST_MS} ms`,
    ratio,
    target: 'at most 1',
    met: ratio <= 1 && isWhole,
    detail: `p99 ${inMs(at(0.99))}, p50 ${inMs(at(0.5))}, most ${inMs(at(1))} after the answer, ${detail}`,
  })
}
