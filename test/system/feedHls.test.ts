import { afterAll, beforeAll, expect, test } from 'vitest'
import { readMediaPlaylist } from '../hls/playlist.ts'
import type { Report } from '../hls/report.ts'
import { recordingOf, type SourceName } from '../hls/sources.ts'
import { validateHls } from '../hls/validator.ts'
import { lineOf } from '../hls/violation.ts'
import { type RunningApp, runApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { FastClock } from '../support/fastClock.ts'
import { RtmpPublisher } from '../support/rtmpPublisher.ts'
import { makeToken } from '../support/testNode.ts'

/** Of the stream. */
const GRACE_SECONDS = 6

const clock = new FastClock()
const publishers: RtmpPublisher[] = []
let running: RunningApp
beforeAll(async () => void (running = await runApp({ clock })))
afterAll(async () => {
  for (const publisher of publishers) publisher.end()
  await running.close()
  clock.close()
})

async function broadcast(source: SourceName): Promise<string> {
  const { token } = await makeToken(running, 'publish', { streams: [{ streamName: source }] })
  const ingestUrl = `rtmp://127.0.0.1:${running.rtmpPort}/v2/pub/${source}?token=${token}`
  publishers.push(await RtmpPublisher.start(ingestUrl, clock, await recordingOf(source)))
  const url = `${running.base}/hls/${running.accountId}/${source}/index.m3u8`
  await until(async () => (await fetch(url)).ok, 'a playlist of the broadcast')
  return url
}

/** The rules that a stream breaks in 12 segments. */
async function broken(url: string): Promise<string[]> {
  const isEnough = ({ seen }: Report) => seen.segments >= 12
  const { violations } = await validateHls({ url, clock, seconds: 3600, graceSeconds: GRACE_SECONDS, isEnough })
  return violations.map(lineOf)
}

test.concurrent.each<SourceName>(['gap', 'audio-only', 'variable-rate', 'noise-of-known-bitrate'])(
  'the HLS of a broadcast breaks no rule when its publisher sends %s',
  async (source) => {
    expect(await broken(await broadcast(source))).toEqual([])
  },
)

/** How many discontinuities there were, up to the end of the playlist. */
async function discontinuities(url: string): Promise<number> {
  const [media = ''] = /^[^#\s]+$/m.exec(await (await fetch(url)).text()) ?? []
  const { discontinuitySequence, segments } = readMediaPlaylist(await (await fetch(new URL(media, url))).text())
  return segments.at(-1)?.discontinuityNumber ?? discontinuitySequence
}

test.concurrent('the HLS of a broadcast breaks no rule over five seconds without video, and goes on without a break', async () => {
  const url = await broadcast('video-gap')
  const before = await discontinuities(url)
  expect([await broken(url), await discontinuities(url)]).toEqual([[], before])
})
