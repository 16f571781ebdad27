import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type CountedPublisher, countedPublisher } from './countedPublisher.ts'
import { buildPlayer, PlayerPage, type PlayerPageOptions } from './playerPage.ts'
import { setStage, type Stage } from './sluice.ts'
import { playsThrough, segmentsListed } from './smoothness.ts'
import { lossyLink, type LossyLink } from '../support/lossyUdp.ts'
import { ownPort } from '../support/ownPort.ts'
import { until } from '../support/until.ts'

let stage: Stage
let publisher: CountedPublisher
/** Between the players that come through it and the server. */
let link: LossyLink
beforeAll(async () => {
  buildPlayer()
  const port = await ownPort()
  link = await lossyLink(port, 7)
  stage = await setStage({
    SLUICE_WEBRTC_HOST: '127.0.0.1',
    SLUICE_WEBRTC_PORT: String(port),
    SLUICE_WEBRTC_PROCESSES: '1',
  })
  const { token } = await stage.token('publish', { streams: [{ streamName: 'counted' }] })
  publisher = countedPublisher(stage.rtmp('counted', token))
  await until(async () => (await segmentsListed(stage.hls('counted'))) >= 3)
})
afterAll(async () => {
  publisher.stop()
  await stage.close()
  link.close()
})

const DAY_MS = 86_400_000
const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

interface Reported {
  players: number
  started: number
  startSeconds: number
  failures: Record<string, number>
  playedSeconds: number
  stalls: number
  stalledSeconds: number
  behindSeconds: number | null
  switches: number
  heights: Record<string, number>
  cmcd: {
    players: number
    starved: number
    bufferSeconds: number | null
    kbps: number | null
    startSeconds: number | null
  }
}

/** What analytics says of a stream so far; undefined: no player has reported. */
async function reported(streamName: string, protocol: string): Promise<Reported | undefined> {
  const days = `startDate=${day(Date.now() - DAY_MS)}&stopDate=${day(Date.now() + DAY_MS)}`
  const { data } = await stage.api(
    'GET',
    `/api/analytics/audience?${days}&streamName=${streamName}&protocol=${protocol}`,
  )
  return data.total.quality as Reported | undefined
}

/**
 * What the page sees itself, frame by frame, from the wish to play on. At 25 frames a second Chromium calls it a freeze when a frame is
 * 150 ms late.
 *
 * The player calls it the first picture when the element has one or the statistics count one, whichever it hears of first. The page
 * hears of both before the player, and again after it: between these two is what the player measured, on a machine of any speed.
 */
const WATCH = `
globalThis.own = { wantedMs: [], firstMs: [], gaps: [], steps: [] }
{
  const first = () => {
    own.firstMs[0] ??= Date.now()
  }
  video(0).addEventListener('loadeddata', () => {
    first()
    setTimeout(() => (own.firstMs[1] ??= Date.now()))
  })
  const { getStats } = RTCPeerConnection.prototype
  RTCPeerConnection.prototype.getStats = async function (...given) {
    const all = await getStats.apply(this, given)
    if ([...all.values()].some(({ type, framesDecoded }) => type === 'inbound-rtp' && framesDecoded > 0)) first()
    return all
  }
  let last = null
  const look = () => {
    const now = Date.now()
    if (last !== null) own.steps.push(now - last)
    if (last !== null && now - last > 190) {
      own.gaps.push(now - last)
      own.resumedAt = now
    }
    last = own.lastAt = now
    video(0).requestVideoFrameCallback(look)
  }
  video(0).requestVideoFrameCallback(look)
  own.wantedMs.push(Date.now())
  players()[0].play()
  own.wantedMs.push(Date.now())
}
`
/** How long ago the server got what is shown, milliseconds: it has the clock of this page. */
const BEHIND = `leaks.peers[0].getStats().then((all) => {
  const video = [...all.values()].find(({ type, kind }) => type === 'inbound-rtp' && kind === 'video')
  const shown = video.estimatedPlayoutTimestamp
  return video.timestamp - (shown > 2208988800000 ? shown - 2208988800000 : shown)
})`
/** Before and after the player took the time. */
type Around = readonly [number, number]
interface Own {
  wantedMs: Around
  firstMs: Around
  gaps: number[]
  /** From each frame to the next. */
  steps: number[]
}

async function watching(attributes: object, options?: PlayerPageOptions): Promise<PlayerPage> {
  const players = [{ stream: `${stage.accountId}/counted`, autoplay: 'off', ...attributes }]
  const site = await PlayerPage.open(stage, players, options)
  onTestFinished(() => site.page.close())
  return site
}

/** Leaves the page, which sends the last report. */
async function leave(site: PlayerPage): Promise<Own> {
  const own = await site.evaluate<Own>('own')
  expect(await site.violations()).toEqual([])
  await site.page.goto('about:blank')
  return own
}

/** Two measurements of the same time, with a frame between them at most. */
const expectClose = (ms: number, ownMs: number): void => expect(Math.abs(ms - ownMs)).toBeLessThan(0.05 * ownMs + 45)

/** Reports have whole milliseconds, and averages of seconds three digits. */
const ROUNDED_MS = 5

/** From the wish to play to the first picture. */
function expectStart(ms: number, { wantedMs, firstMs }: Own): void {
  expect(ms).toBeGreaterThanOrEqual(firstMs[0] - wantedMs[1] - ROUNDED_MS)
  expect(ms).toBeLessThanOrEqual(firstMs[1] - wantedMs[0] + ROUNDED_MS)
}

/** Of all players that have started, in sum. */
const startMsOf = (quality: Reported | undefined): number =>
  1000 * (quality?.startSeconds ?? 0) * (quality?.started ?? 0)

const sumOf = (all: readonly number[]): number => all.reduce((sum, ms) => sum + ms, 0)

/**
 * How many stalls were reported meanwhile and how long they lasted, beside what the page saw: within 5%. A step counts in any case if it is
 * `longMs` and more, and may count from `shortMs` on. `parts` is how many stalls a long step may be.
 */
function expectSame(
  after: Reported,
  before: Reported | undefined,
  { steps }: Own,
  { shortMs, longMs, parts }: { readonly shortMs: number; readonly longMs: number; readonly parts: number },
): void {
  const [some, sure] = [shortMs, longMs].map((least) => steps.filter((ms) => ms >= least)) as [number[], number[]]
  const stalls = after.stalls - (before?.stalls ?? 0)
  expect(stalls).toBeGreaterThanOrEqual(0.95 * sure.length)
  expect(stalls).toBeLessThanOrEqual(1.05 * (some.length + (parts - 1) * sure.length))
  const stalledMs = 1000 * (after.stalledSeconds - (before?.stalledSeconds ?? 0))
  expect(stalledMs).toBeGreaterThan(0.95 * sumOf(sure))
  expect(stalledMs).toBeLessThan(1.05 * sumOf(some))
}

test('a player over WHEP reports when the page saw its first frame, and how far it is behind the server', async () => {
  const site = await watching({ mode: 'whep' })
  await site.evaluate(WATCH)
  await site.reaches('playing')
  await site.plays()
  await expect.poll(() => site.evaluate(BEHIND)).toBeGreaterThan(0)
  // Statistics are read once a second.
  await expect.poll(() => site.evaluate('(own.knownSince ??= Date.now()) < Date.now() - 3000')).toBe(true)
  const behind = await site.evaluate<number>(BEHIND)
  const own = await leave(site)
  await expect.poll(async () => (await reported('counted', 'whep'))?.players).toBe(1)
  const quality = await reported('counted', 'whep')
  expectStart(startMsOf(quality), own)
  expectClose(1000 * (quality?.behindSeconds ?? 0), behind)
  expect(quality).toMatchObject({ started: 1, failures: {}, switches: 0 })
})

test('a player over WHEP that gets nothing for a while reports how long the page saw it stand still', async () => {
  const before = (await reported('counted', 'whep')) as Reported
  const site = await watching({ mode: 'whep' }, { through: link.port })
  await site.evaluate(WATCH)
  await site.reaches('playing')
  await site.plays()
  link.lose(1)
  await expect.poll(() => site.evaluate('Date.now() - own.lastAt > 4000')).toBe(true)
  link.lose(0)
  await expect.poll(async () => Math.max(0, ...(await site.evaluate<Own>('own')).gaps)).toBeGreaterThan(3000)
  await site.plays()
  // The statistics are read once a second, and the page may be left between two readings.
  await expect.poll(() => site.evaluate('Date.now() - own.resumedAt > 2500')).toBe(true)
  const own = await leave(site)
  await expect.poll(async () => (await reported('counted', 'whep'))?.players).toBe(before.players + 1)
  const after = (await reported('counted', 'whep')) as Reported
  expectClose(1000 * (after.stalledSeconds - before.stalledSeconds), sumOf(own.gaps))
})

test('a player over WHEP that loses packets at random reports the stalls that the page saw', async () => {
  const before = (await reported('counted', 'whep')) as Reported
  const site = await watching({ mode: 'whep' }, { through: link.port })
  await site.evaluate(WATCH)
  await site.reaches('playing')
  await site.plays()
  link.lose(0.4)
  await expect.poll(() => site.evaluate('own.gaps.filter((ms) => ms > 500).length')).toBeGreaterThan(9)
  link.lose(0)
  await site.plays()
  // The statistics are read once a second.
  await expect.poll(() => site.evaluate('Date.now() - own.resumedAt > 2500')).toBe(true)
  const own = await leave(site)
  await expect.poll(async () => (await reported('counted', 'whep'))?.players).toBe(before.players + 1)
  const after = (await reported('counted', 'whep')) as Reported
  // A freeze is 150 ms longer than the average, which losses make longer.
  expectSame(after, before, own, { shortMs: 150, longMs: 350, parts: 1 })
})

test('a player over HLS whose server is slow reports the stalls that the page saw', async () => {
  const before = await reported('counted', 'hls')
  const site = await watching({ mode: 'hls' })
  await site.evaluate(WATCH)
  await site.reaches('playing')
  await site.plays()
  const network = await site.page.context().newCDPSession(site.page)
  const answersAfter = (latency: number) =>
    network.send('Network.emulateNetworkConditions', {
      offline: false,
      latency,
      downloadThroughput: -1,
      uploadThroughput: -1,
    })
  await answersAfter(2500)
  await expect.poll(() => site.evaluate('own.gaps.some((ms) => ms > 500)')).toBe(true)
  await answersAfter(0)
  await site.plays()
  await expect.poll(() => site.evaluate('Date.now() - own.resumedAt > 2500')).toBe(true)
  const own = await leave(site)
  await expect.poll(async () => (await reported('counted', 'hls'))?.players).toBe((before?.players ?? 0) + 1)
  const after = (await reported('counted', 'hls')) as Reported
  // A piece may come between two that are late, and be played before the page sees a frame of it.
  expectSame(after, before, own, { shortMs: 100, longMs: 1000, parts: 2 })
})

test('a player over HLS whose network is away reports the stall as long as the page sees it', async () => {
  const before = await reported('counted', 'hls')
  const site = await watching({ mode: 'hls' })
  await site.evaluate(WATCH)
  await site.reaches('playing')
  await site.plays()
  const context = site.page.context()
  await context.setOffline(true)
  await expect.poll(() => site.evaluate('video(0).readyState < 3')).toBe(true)
  await expect.poll(() => site.evaluate('(own.awaySince ??= Date.now()) < Date.now() - 6000')).toBe(true)
  await context.setOffline(false)
  await expect.poll(async () => Math.max(0, ...(await site.evaluate<Own>('own')).gaps)).toBeGreaterThan(4000)
  await site.plays()
  const own = await leave(site)
  await expect.poll(async () => (await reported('counted', 'hls'))?.players).toBe((before?.players ?? 0) + 1)
  const after = await reported('counted', 'hls')
  expectStart(startMsOf(after) - startMsOf(before), own)
  const stalledSeconds = (after?.stalledSeconds ?? 0) - (before?.stalledSeconds ?? 0)
  expectClose(1000 * stalledSeconds, sumOf(own.gaps.filter((ms) => ms > 500)))
  expect(after).toMatchObject({ started: (before?.started ?? 0) + 1, switches: 0 })
  expect(Object.keys(after?.heights ?? {})).toEqual(['144'])
})

test('a player that falls back to HLS reports one start with a switch, and one that may not reports a failure', async () => {
  const before = await reported('counted', 'hls')
  const back = await watching({ mode: 'auto' }, { blocked: true })
  await back.evaluate(WATCH)
  await back.reaches('playing')
  await back.plays()
  const own = await leave(back)
  await expect.poll(async () => (await reported('counted', 'hls'))?.switches).toBe(1)
  const after = await reported('counted', 'hls')
  expectStart(startMsOf(after) - startMsOf(before), own)
  const whep = await reported('counted', 'whep')
  const strict = await watching({ mode: 'whep' }, { blocked: true })
  await strict.evaluate(WATCH)
  await strict.reaches('refused: not_connected')
  await expect.poll(async () => (await reported('counted', 'whep'))?.failures).toEqual({ not_connected: 1 })
  expect((await reported('counted', 'whep'))?.started).toBe(whep?.started)
})

test('a player that may not report does not', async () => {
  const site = await watching({ mode: 'hls', reports: 'off' })
  const posts: string[] = []
  site.page.on('request', (request) => request.method() === 'POST' && posts.push(request.url()))
  await site.evaluate(WATCH)
  await site.reaches('playing')
  await site.plays()
  await leave(site)
  expect(posts).toEqual([])
})

test.for(['hlsjs', 'shaka'])('%s reports with CMCD, in headers', async (name) => {
  const before = (await reported('counted', 'hls'))?.cmcd.players ?? 0
  await playsThrough({ stage, name: `${name}Cmcd`, url: stage.hls('counted') }, expect)
  await expect.poll(async () => (await reported('counted', 'hls'))?.cmcd.players).toBe(before + 1)
  const { cmcd } = (await reported('counted', 'hls')) as Reported
  expect(cmcd.bufferSeconds).toBeGreaterThan(0)
  expect(cmcd.kbps).toBeGreaterThan(0)
  expect(cmcd.startSeconds).toBeGreaterThan(0)
})
