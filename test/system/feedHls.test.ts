import { afterAll, beforeAll, expect, test } from 'vitest'
import { readMediaPlaylist } from '../hls/playlist.ts'
import type { Report } from '../hls/report.ts'
import { pushSource, type SourceName } from '../hls/sources.ts'
import { validateHls } from '../hls/validator.ts'
import { lineOf } from '../hls/violation.ts'
import { type RunningApp, runApp } from '../support/app.ts'
import { endChildren, until } from '../support/channels.ts'
import { makeToken } from '../support/testNode.ts'

/** Encoders and validators share a busy machine. */
const GRACE_SECONDS = 20

let running: RunningApp
beforeAll(async () => void (running = await runApp()))
afterAll(async () => {
  endChildren()
  await running.close()
})

// They mostly wait, so they run concurrently.

async function broadcast(source: SourceName): Promise<string> {
  const { token } = await makeToken(running, 'publish', { streams: [{ streamName: source }] })
  pushSource(source, `rtmp://127.0.0.1:${running.rtmpPort}/v2/pub/${source}?token=${token}`)
  const url = `${running.base}/hls/${running.accountId}/${source}/index.m3u8`
  await until(async () => (await fetch(url)).ok, 'a playlist of the broadcast')
  return url
}

/** The rules that a stream breaks in 12 segments. */
async function broken(url: string): Promise<string[]> {
  const isEnough = ({ seen }: Report) => seen.segments >= 12
  const { violations } = await validateHls({ url, seconds: 60, graceSeconds: GRACE_SECONDS, isEnough })
  return violations.map(lineOf)
}

test.concurrent.each<SourceName>(['gap', 'audio-only', 'variable-rate', 'noise-of-known-bitrate'])(
  'the HLS of a broadcast breaks no rule when its encoder sends %s',
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
