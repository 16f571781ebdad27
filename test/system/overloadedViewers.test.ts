import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runApp, type RunningApp } from '../support/app.ts'
import { makeToken } from '../support/testNode.ts'
import { Throttled } from '../support/throttled.ts'
import { type AskOver, OwnLateness, TimedPublisher, TimedViewer } from '../support/timedMedia.ts'
import { pace, until } from '../support/until.ts'

const VIEWERS = 40
/** What the process may have of what these viewers need. A burner on the same core would leave more on some machines. */
const SHARE = 1 / 4
const TURN_MS = 100
/** What the publisher sends in this time measures the need, in ticks of 10 ms. */
const MEASURED_MS = 3000
/** Newcomers while the process has too little: for ten seconds, in which what waits without end grows older than any bound. */
const NEWCOMERS = 20
const NEWCOMER_EVERY_MS = 500
/** Of a packet from the publisher to a viewer. 300 ms are what a packet may wait before it is read. */
const OLD_MS = 500
/** Three times as many as are on, over some seconds. */
const OFFERS = 3 * VIEWERS
const OFFER_EVERY_MS = 100

const WEBRTC = { host: '127.0.0.1', port: 0, processes: 1, maxBitrateKilobits: 100_000 }

let sluice: RunningApp
let publisher: TimedPublisher
const viewers: TimedViewer[] = []
const lateness = new OwnLateness()
let throttled: Throttled | null = null

beforeAll(async () => {
  sluice = await runApp({ flags: { webrtc: WEBRTC } })
  const { token } = await makeToken(sluice, 'publish')
  await lateness.start()
  publisher = new TimedPublisher()
  expect(await publisher.join(ask('/api/whip/show', { authorization: `Bearer ${token}` }), 'sendonly')).toBe(201)
  publisher.play()
  await until(
    () => sluice.app.ctx.sessions.feeds.onAir(sluice.accountId, 'show') !== undefined,
    'the stream on the air',
  )
  for (let n = 0; n < VIEWERS; n++) {
    const viewer = new TimedViewer()
    viewers.push(viewer)
    expect(await viewer.join(watch(), 'recvonly')).toBe(201)
  }
  await until(() => viewers.every(({ arrivals }) => arrivals.length > 0), 'media at all viewers')
})
afterAll(async () => {
  await throttled?.release()
  for (const peer of [publisher, lateness, ...viewers]) peer.close()
  await sluice.close()
})

const ask =
  (path: string, more = {}): AskOver =>
  async (body) => {
    const headers = { 'content-type': 'application/sdp', ...more }
    const answer = await fetch(sluice.base + path, { method: 'POST', headers, body })
    return { status: answer.status, sdp: await answer.text() }
  }
const watch = (): AskOver => ask(`/api/whep/${sluice.accountId}/show`)
const sessions = () => sluice.app.ctx.sessions.all().map(({ session }) => session.id)
const full = async (): Promise<string[]> => (await sluice.call('GET', '/api/nodes')).json.data.nodes[0].full

/** The status for a newcomer, over WHEP and HLS. */
async function newcomers(): Promise<number[]> {
  const viewer = new TimedViewer()
  const playlist = await fetch(`${sluice.base}/hls/${sluice.accountId}/show/index.m3u8`)
  return [await viewer.join(watch(), 'recvonly').finally(() => viewer.close()), playlist.status]
}

function mediaProcess(): number {
  const found = readdirSync('/proc').find((pid) => isMediaProcess(pid))
  if (found === undefined) throw new Error('there is no media process')
  return Number(found)
}

/** The share of a core that a process takes while the publisher sends. */
async function needed(pid: number): Promise<number> {
  const ticks = (): number => {
    // After the name, which may have spaces: user and system time are the fields 14 and 15 of proc(5).
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return Number(fields[11]) + Number(fields[12])
  }
  const [before, beganMs] = [ticks(), publisher.sentAtMs]
  await until(() => publisher.sentAtMs - beganMs > MEASURED_MS)
  return ((ticks() - before) * 10) / (publisher.sentAtMs - beganMs)
}

function isMediaProcess(pid: string): boolean {
  const read = (file: string): string => readFileSync(`/proc/${pid}/${file}`, 'utf8')
  try {
    return read('cmdline').includes('relay/processes/process') && read('status').includes(`\nPPid:\t${process.pid}\n`)
  } catch {
    // It has ended, or is none.
    return false
  }
}

test.runIf(process.platform === 'linux')(
  'a media process with too little processor takes no newcomers, sends nothing old, and goes on at once when it has more',
  async () => {
    const before = sessions()
    const pid = mediaProcess()
    throttled = new Throttled(pid, { runMs: SHARE * (await needed(pid)) * TURN_MS, turnMs: TURN_MS })
    await until(async () => (await full()).includes('media'), 'a node that is full')
    for (const viewer of viewers) viewer.arrivals = []
    for (let n = 0; n < NEWCOMERS; n++) {
      expect(await newcomers()).toEqual([503, 503])
      await pace(NEWCOMER_EVERY_MS)
    }
    const old = viewers
      .flatMap(({ arrivals }) => arrivals)
      .filter(({ atMs, delayMs }) => delayMs > OLD_MS && delayMs - lateness.at(atMs) > OLD_MS)
    expect(old).toEqual([])
    expect(sessions()).toEqual(before)

    await throttled.release()
    const { sentAtMs } = publisher
    const isBack = ({ arrivals }: TimedViewer) => arrivals.some(({ atMs, delayMs }) => atMs - delayMs > sentAtMs)
    await until(() => viewers.every(isBack), 'media from after the relief at all who were on')
    await until(async () => (await full()).length === 0, 'a node with room')
    expect(sessions()).toEqual(before)
    const viewer = new TimedViewer()
    viewers.push(viewer)
    expect(await viewer.join(watch(), 'recvonly')).toBe(201)
    await until(() => viewer.arrivals.length > 0, 'media at a newcomer')
  },
)

test('offers at a full node reach no media process, so those who were on get what they got before', async () => {
  const before = sessions()
  const flags = { webrtc: WEBRTC, server: { maxEgressMegabits: 1 } }
  expect(await sluice.reload(flags)).toMatchObject({ ok: true, applied: [{ key: 'server.maxEgressMegabits' }] })
  await until(async () => (await full()).includes('egress'), 'a node that sends all it may')
  const counted = async (name: string) => {
    const text = await (await fetch(`${sluice.base}/metrics`)).text()
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(name))
        ?.split(' ')
        .at(-1) ?? 0,
    )
  }
  const [REFUSED, ADMITTED] = [
    'sluice_refusals_total{code="node_full"}',
    'sluice_admissions_total{action="view",protocol="whep"}',
  ]
  const [refused, admitted] = [await counted(REFUSED), await counted(ADMITTED)]
  for (const viewer of viewers) viewer.arrivals = []
  const newcomer = new TimedViewer()
  const statuses: number[] = []
  for (let n = 0; n < OFFERS; n++) {
    statuses.push(await newcomer.join(watch(), 'recvonly'))
    await pace(OFFER_EVERY_MS)
  }
  newcomer.close()
  expect([...new Set(statuses)]).toEqual([503])
  expect(await counted(REFUSED)).toBe(refused + OFFERS)
  expect(await counted(ADMITTED)).toBe(admitted)
  expect(sessions()).toEqual(before)
  expect(viewers.filter(({ arrivals }) => arrivals.length === 0)).toEqual([])
})
