/**
 * Whether memory stays constant while clients come and go: viewers over WHEP, one after another and many at once, that
 * send DELETE, close the connection or vanish; publishers; one over RTMP with a viewer over HLS. After a warm-up
 * the bench samples the resident memory of the server and of its relay processes every 10 seconds. It takes half a core
 * for the given time:
 *   node bench/soak.ts [--minutes 30] [--times 1]
 * With `--times 10` clients come and go ten times as fast, or as fast as the machine can.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { readCommandLine } from '../scripts/commandLine.ts'
import { ffmpegPublisher } from '../test/e2e/ffmpegPublisher.ts'
import { type Audience, startAudience } from './lib/audience.ts'
import { median, report } from './lib/report.ts'
import { startServer } from './lib/server.ts'

const { values } = readCommandLine({
  options: {
    minutes: { type: 'string', default: '30' },
    times: { type: 'string', default: '1' },
    encoder: { type: 'string', default: 'rtmp' },
  },
})
const isSrt = values.encoder === 'srt'
const TIMES = Number(values.times)
const SOAK_MS = Number(values.minutes) * 60_000
/** Until heaps have reached their size and rings are full. */
const WARM_UP_MS = Math.min(SOAK_MS / 5, 180_000)
const SAMPLE_MS = 10_000
const ROUND_MS = 5000 / TIMES
const STAY_MS = 2000 / TIMES
const VIEWERS = 12
const CROWD = 50
const BITRATE = 400_000
const FLAT = 1.1

/** One sample of the memory, in MiB. */
interface Sample {
  readonly server: number
  readonly relays: number
}

// All viewers have one address, and begin more often than those of one address may.
const server = await startServer({ SLUICE_SESSIONS_MAX_VIEWERS_PER_ADDRESS: '0' })
const audience = await startAudience()
const streams = ['bench', 'guest', 'studio', 'steady'].map((streamName) => ({ streamName }))
const published = await server.api('POST', '/api/publish_token', { label: 'b', streams, displaySrtPassphrase: true })
const publish = published.token
const { token } = await server.api('POST', '/api/subscribe_token', { label: 'b', streams })
await audience.publish({ url: server.whip('bench'), token: publish }, BITRATE)

const done = { joins: 0, overWhip: 1, byEncoder: 0, segments: 0 }

async function join(audience: Audience, stream: string, count: number, atOnce: number): Promise<void> {
  await audience.join({ url: server.whep(stream), token, count, atOnce })
  done.joins += count
}

/** Viewers join, stay for a moment and leave. */
async function comeAndGo(count: number, atOnce: number, goodbye: boolean): Promise<void> {
  await join(audience, 'bench', count, atOnce)
  await sleep(STAY_MS)
  await audience.leave(goodbye)
}

/** A publisher with its own viewers, all of which vanish without a message. */
async function guests(): Promise<void> {
  const guest = await startAudience()
  await guest.publish({ url: server.whip('guest'), token: publish }, BITRATE)
  done.overWhip += 1
  await join(guest, 'guest', 4, 4)
  await join(guest, 'bench', 4, 4)
  await guest.vanish()
}

/** Where an encoder sends a stream. */
const encoderUrl = (stream: string): string => (isSrt ? server.srt(stream, published) : server.rtmp(stream, publish))

/** An encoder, watched over HLS and over WHEP. */
async function broadcast(): Promise<void> {
  const encoding = ffmpegPublisher(encoderUrl('studio'))
  try {
    done.segments += await watchHls(server.hls('studio', token))
    await join(audience, 'studio', 4, 2)
    done.byEncoder += 1
  } finally {
    await encoding.stop()
  }
}

/** Follows the playlists to their segments. Returns the number of segments. */
async function watchHls(url: string): Promise<number> {
  const master = await text(url)
  const media = new URL(master.trim().split('\n').at(-1) ?? '', url)
  const segments = (await text(media.href)).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  for (const segment of segments) await text(new URL(segment, media).href)
  return segments.length
}

/** Retries, because the feed and its first segment take a while. */
async function text(url: string): Promise<string> {
  for (let triesLeft = 30; ; triesLeft--) {
    const response = await fetch(url)
    const body = await response.text()
    if (response.ok) return body
    if (triesLeft === 0 || ![404, 503].includes(response.status)) throw new Error(`${url}: ${response.status} ${body}`)
    await sleep(500)
  }
}

async function round(number: number): Promise<void> {
  if (number % 30 === 29) await comeAndGo(CROWD, CROWD, true)
  else if (number % 20 === 9) await broadcast()
  else if (number % 10 === 4) await guests()
  await comeAndGo(VIEWERS, number % 3 === 0 ? 1 : 4, number % 2 === 0)
}

async function churn(untilMs: number): Promise<void> {
  for (let number = 0; performance.now() < untilMs; number++) {
    const nextMs = performance.now() + ROUND_MS
    await round(number)
    await sleep(Math.max(0, nextMs - performance.now()))
  }
}

async function watch(untilMs: number): Promise<Sample[]> {
  const samples: Sample[] = []
  await sleep(WARM_UP_MS)
  while (performance.now() < untilMs) {
    const [own = 0, ...relays] = server.memory()
    const sample = { server: own, relays: relays.reduce((sum, one) => sum + one, 0) }
    samples.push(sample)
    const minutes = (performance.now() - beganMs) / 60_000
    const { joins } = done
    console.log(`${minutes.toFixed(1)} min: ${own.toFixed(0)} + ${sample.relays.toFixed(0)} MiB, ${joins} joins`)
    await sleep(SAMPLE_MS)
  }
  return samples
}

/** Compares the last third with the first: a steady growth shows there, whatever the noise of single samples. */
function judge(what: string, sizes: readonly number[]): void {
  const third = Math.max(1, Math.floor(sizes.length / 3))
  const ratio = median(sizes.slice(-third)) / median(sizes.slice(0, third))
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)].map((size) => size.toFixed(0))
  report({
    what: `Resident memory of ${what}, last third / first third of ${values.minutes} minutes`,
    ratio,
    target: `at most ${FLAT}`,
    met: ratio <= FLAT,
    detail: `${least} to ${most} MiB, median ${median(sizes).toFixed(0)}`,
  })
}

const steady = isSrt ? ffmpegPublisher(encoderUrl('steady')) : null
const beganMs = performance.now()
const endsMs = beganMs + SOAK_MS
const [samples] = await Promise.all([watch(endsMs), churn(endsMs)])
const { joins, overWhip, byEncoder, segments } = done
console.log(
  `${joins} joins, ${overWhip} publishers over WHIP, ${byEncoder} encoders over ${isSrt ? 'SRT' : 'RTMP'}, ${segments} HLS segments`,
)
judge(
  'the server',
  samples.map((sample) => sample.server),
)
judge(
  'its relay processes',
  samples.map((sample) => sample.relays),
)
await steady?.stop()
await audience.stop()
await server.stop()
process.exit()
