/**
 * How far players in a browser are behind a publisher over RTMP: the number that the publisher draws into its latest frame,
 * less the number in the frame that the player shows. For a channel with two renditions and for a feed. hls.js has the
 * settings of the guide to HLS players; the others have none. The publishers, the server and the browser share the machine.
 *   SECONDS=15 node bench/hls-latency.ts
 */
import { availableParallelism, loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { openBrowser } from '../test/e2e/browser.ts'
import { countedPublisher, RATE } from '../test/e2e/countedPublisher.ts'
import { servePages } from '../test/e2e/pages.ts'
import { runChannels } from '../test/support/channelsClient.ts'
import { makeToken } from '../test/support/testNode.ts'
import { median, report } from './lib/report.ts'

const SECONDS = Number(process.env['SECONDS'] ?? 15)
/** A player finds its place in this time. */
const WARM_SECONDS = 15
const SAMPLE_MS = 200
const START_MAX_SECONDS = 30

const LADDER = [
  { width: 320, height: 180, bitrate: 500_000 },
  { width: 160, height: 90, bitrate: 150_000 },
]
const NEAR = { maxLiveSyncPlaybackRate: 1.5, liveSyncDuration: 1.5, liveMaxLatencyDuration: 6 }
const PLAYERS = [
  { what: 'hls.js', name: 'hlsjs', settings: NEAR, targetSeconds: 2 },
  { what: 'Shaka', name: 'shaka', settings: {}, targetSeconds: 1.8 },
  { what: 'hls.js without low latency', name: 'hlsjs', settings: { lowLatencyMode: false }, targetSeconds: 7.5 },
]

const [live, browser, pages] = await Promise.all([runChannels(), openBrowser(), servePages()])
const { running } = live

async function channel(): Promise<{ push: string; url: string }> {
  const ladder = await live.made('POST', '/abr', { name: 'small', video: LADDER })
  const engines = [{ name: 'Main', quality: { abrLadderId: ladder.id } }]
  const ingests = [{ name: 'Camera', type: 'rtmp-push', engines }]
  const made = await live.made('POST', '/channels', {
    name: 'bench',
    ingests,
    distributions: [{ name: 'Web', latencies: { hls: 6 } }],
  })
  await live.made('POST', `/channels/${made.id}/start`)
  return {
    push: `rtmp://127.0.0.1:${running.rtmpPort}/live/${made.ingests[0].streamKey}`,
    url: `${running.base}/v2/distributions/${made.distributions[0].id}/hls/main.m3u8`,
  }
}

async function feed(): Promise<{ push: string; url: string }> {
  const { token } = await makeToken(running, 'publish')
  return {
    push: `rtmp://127.0.0.1:${running.rtmpPort}/v2/pub/show?token=${token}`,
    url: `${running.base}/hls/${running.accountId}/show/index.m3u8`,
  }
}

for (const [kind, open] of Object.entries({ channel, feed })) {
  const { push, url } = await open()
  const publisher = countedPublisher(push)
  try {
    for (let tries = 0; !(await fetch(url)).ok; tries++) {
      if (tries > START_MAX_SECONDS) throw new Error(`no playlist of the ${kind}`)
      await delay(1000)
    }
    for (const player of PLAYERS) await measure(kind, url, publisher, player)
  } finally {
    publisher.stop()
  }
}
await browser.close()
await pages.close()
await live.close()

async function measure(
  kind: string,
  url: string,
  publisher: ReturnType<typeof countedPublisher>,
  { what, name, settings, targetSeconds }: (typeof PLAYERS)[number],
): Promise<void> {
  const page = await browser.newPage()
  await page.goto(`${pages.origin('page.test')}/players.html`)
  await page.waitForFunction('globalThis.players !== undefined')
  const lines = `const hls = new Hls(${JSON.stringify(settings)})`
  await page.evaluate(`players.play('${name}', '${url}', '${lines}')`)
  await delay(WARM_SECONDS * 1000)
  const seconds: number[] = []
  for (let at = 0; at < SECONDS * 1000; at += SAMPLE_MS) {
    const numbers = await page.evaluate<number[]>(
      `players.seen('${name}').frames.slice(-1).map(({ number }) => number)`,
    )
    seconds.push((publisher.latest() - (numbers.at(-1) ?? 0)) / RATE)
    await delay(SAMPLE_MS)
  }
  const errors = await page.evaluate<string[]>(`players.seen('${name}').errors`)
  await page.close()
  const middle = median(seconds)
  const [least, most] = [Math.min(...seconds).toFixed(2), Math.max(...seconds).toFixed(2)]
  const load = `load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} cores`
  report({
    what: `${what} behind the publisher of a ${kind}, of its target`,
    ratio: middle / targetSeconds,
    target: `<= 1 of ${targetSeconds} s`,
    met: middle <= targetSeconds && errors.length === 0,
    detail: `p50 ${middle.toFixed(2)} s, ${least} to ${most} s; ${load}${errors.map((error) => `; ${error}`).join('')}`,
  })
}
