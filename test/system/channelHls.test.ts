import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pushSource, type SourceName } from '../hls/sources.ts'
import { validateHls, type ValidatorOptions } from '../hls/validator.ts'
import { lineOf } from '../hls/violation.ts'
import { endChildren, until, workingIn } from '../support/channels.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'

const VIDEO = [
  { width: 160, height: 90, bitrate: 150_000 },
  { width: 96, height: 54, bitrate: 80_000, frameRate: { value: 15, scale: 1 } },
]
/** Encoders, engines and validators share a busy machine. */
const GRACE_SECONDS = 20

let live: ChannelsClient
let ladderId: string
beforeAll(async () => {
  live = await runChannels()
  ladderId = (await live.made('POST', '/abr', { name: 'tiny', video: VIDEO })).id
})
afterAll(async () => {
  endChildren()
  await live.close()
})

/** A channel that plays a source. */
async function playing(source: SourceName): Promise<{ url: string; engineId: string; stop(): Promise<unknown> }> {
  const engines = [{ name: 'Main', quality: { abrLadderId: ladderId } }]
  const ingests = [{ name: 'Camera', type: 'rtmp-push', engines }]
  const made = await live.made('POST', '/channels', { name: source, ingests, distributions: [{ name: 'Web' }] })
  await live.made('POST', `/channels/${made.id}/start`)
  pushSource(source, `rtmp://127.0.0.1:${live.running.rtmpPort}/live/${made.ingests[0].streamKey}`)
  const url = `${live.running.base}/v2/distributions/${made.distributions[0].id}/hls/main.m3u8`
  await until(async () => (await fetch(url)).ok, 'a playlist of the channel')
  return { url, engineId: made.engines[0].id, stop: () => live.v2('POST', `/channels/${made.id}/stop`) }
}

/** The rules that a stream broke. Playlists are not compressed. */
async function broken(url: string, isEnough: ValidatorOptions['isEnough']): Promise<string[]> {
  const options = { url, seconds: 60, graceSeconds: GRACE_SECONDS, ...(isEnough ? { isEnough } : {}) }
  const { violations } = await validateHls(options)
  return violations.map(lineOf).filter((line) => !line.includes('Content-Encoding'))
}

// They mostly wait, so they run concurrently.

test.concurrent.each<SourceName>(['b-frames', '29.97', 'gap'])(
  'the HLS of a channel breaks no rule when its encoder sends %s',
  async (source) => {
    const channel = await playing(source)
    expect(await broken(channel.url, ({ seen }) => seen.segments >= 12)).toEqual([])
    await channel.stop()
  },
)

test.concurrent('the HLS of a channel breaks no rule when its ffmpeg is killed', async () => {
  const channel = await playing('plain')
  let killedAt = 0
  const kill = async (): Promise<void> => {
    const [pid = 0] = await workingIn(join(live.running.dataDir, 'channels', channel.engineId))
    process.kill(pid, 'SIGKILL')
  }
  const violations = await broken(channel.url, ({ seen }) => {
    if (killedAt === 0 && seen.segments >= 4) {
      killedAt = seen.segments
      void kill()
    }
    return killedAt > 0 && seen.segments >= killedAt + 6
  })
  expect([killedAt > 0, violations]).toEqual([true, []])
  await channel.stop()
})
