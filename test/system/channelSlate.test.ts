import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readMediaPlaylist } from '../hls/playlist.ts'
import { recordingOf } from '../hls/sources.ts'
import { validateHls } from '../hls/validator.ts'
import { lineOf } from '../hls/violation.ts'
import { workingIn } from '../support/channels.ts'
import { until } from '../support/until.ts'
import { clip } from '../support/clips.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { FastClock } from '../support/fastClock.ts'
import { RtmpPublisher } from '../support/rtmpPublisher.ts'

const VIDEO = [
  { width: 160, height: 90, bitrate: 150_000 },
  { width: 96, height: 54, bitrate: 80_000, frameRate: { value: 15, scale: 1 } },
]
/** Of the stream. */
const GRACE_SECONDS = 6

const clock = new FastClock()
let live: ChannelsClient
let ladderId: string
let image: Buffer
beforeAll(async () => {
  image = clip('-f lavfi -i testsrc2=s=320x180 -frames:v 1', 'png')
  live = await runChannels({ clock })
  ladderId = (await live.made('POST', '/abr', { name: 'tiny', video: VIDEO })).id
})
afterAll(async () => {
  await live.close()
  clock.close()
})

/** What a program says. This process serves what it reads. */
function stderrOf(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve) => execFile(program, args, (_error, _stdout, stderr) => resolve(stderr)))
}

interface Stage {
  id: string
  engineId: string
  url: string
  /** A publisher that begins to push. */
  push(): Promise<RtmpPublisher>
  status(): Promise<string>
  /** Stops the channel. */
  stop(): Promise<unknown>
}

/** Sluice gives a file so long of its clock to be decoded, which stands still meanwhile: a busy machine takes longer. */
const putSlate = (channelId: string, slate: Buffer, type = 'image/png') =>
  clock.slowly(0, () => live.v2('PUT', `/channels/${channelId}/slate`, slate, { 'content-type': type }))

/** A started channel that waits for its publisher, with this slate. */
async function staged(slate: Buffer, type = 'image/png'): Promise<Stage> {
  const engines = [{ name: 'Main', quality: { abrLadderId: ladderId } }]
  const ingests = [{ name: 'Camera', type: 'rtmp-push', engines }]
  const channel = await live.made('POST', '/channels', { name: 'Stage', ingests, distributions: [{ name: 'Web' }] })
  const { id } = channel
  const put = await putSlate(id, slate, type)
  expect([put.status, put.text]).toEqual([200, expect.any(String)])
  await live.made('POST', `/channels/${id}/start`)
  const status = async () => (await live.made('GET', `/engines/${channel.engines[0].id}`)).status
  await until(async () => (await status()) === 'waiting', 'the engine waits')
  const ingestUrl = `rtmp://127.0.0.1:${live.running.rtmpPort}/live/${channel.ingests[0].streamKey}`
  return {
    id,
    engineId: channel.engines[0].id,
    url: `${live.running.base}/v2/distributions/${channel.distributions[0].id}/hls/main.m3u8`,
    push: async () => RtmpPublisher.start(ingestUrl, clock, await recordingOf('plain')),
    status,
    stop: () => live.v2('POST', `/channels/${id}/stop`),
  }
}

/** Resolves when viewers get a slate. It is made for the first one, who is told to try again if that takes long. */
const isShown = ({ url }: Stage): Promise<true> => until(async () => (await fetch(url)).ok, 'the slate')

/** The media playlist of the first variant. */
async function playlistOf({ url }: Stage) {
  const master = await (await fetch(url)).text()
  const media = new URL(/^[^#].*$/m.exec(master)?.[0] ?? '', url)
  return { master, media: readMediaPlaylist(await (await fetch(media)).text()) }
}

const engineFolder = ({ engineId }: Stage): string => join(live.running.dataDir, 'channels', engineId)

test('slate, broadcast and slate again break no rule of HLS, and only the broadcast counts as playing', async () => {
  const stage = await staged(image)
  await isShown(stage)
  const statuses: string[] = []
  let publisher: RtmpPublisher | null = null
  let phase = 0
  let phaseAt = 0
  let isBusy = false
  const step = async (segments: number): Promise<void> => {
    const status = await stage.status()
    if (statuses.at(-1) !== status) statuses.push(status)
    if (phase === 0 && segments >= 8) publisher = await stage.push()
    else if (phase === 1 && status === 'playing' && segments >= phaseAt + 14) publisher?.end()
    else if (phase === 2 && status === 'waiting' && segments >= phaseAt + 14) phase = 3
    else return
    if (phase < 3) phase += 1
    phaseAt = segments
  }
  const { violations, seen } = await validateHls({
    url: stage.url,
    clock,
    seconds: 3600,
    graceSeconds: GRACE_SECONDS,
    isEnough: (report) => {
      if (!isBusy) {
        isBusy = true
        void step(report.seen.segments).finally(() => (isBusy = false))
      }
      return phase === 3
    },
  })
  const broken = violations.map(lineOf).filter((line) => !line.includes('Content-Encoding'))
  expect({ phase, broken, seen: seen.segments > 30 }).toEqual({ phase: 3, broken: [], seen: true })
  expect(statuses.filter((status) => status !== 'ingesting')).toEqual(['waiting', 'playing', 'waiting'])
  await stage.stop()
})

test('a clip shows with its audio, in whole loops, until the viewers are gone; another slate takes its place, and none ends it', async () => {
  const sources = '-f lavfi -i testsrc2=s=320x180:r=25 -f lavfi -i sine=frequency=440'
  const film = clip(`${sources} -t 2.4 -c:v libx264 -pix_fmt yuv420p -c:a aac`, 'mp4')
  const stage = await staged(film, 'video/mp4')
  await isShown(stage)
  const { master, media } = await playlistOf(stage)
  expect(master).toContain('CODECS="avc1.640')
  expect(master).toContain('mp4a.40.2')
  expect(media.segments.slice(0, 3).map(({ durationSeconds }) => Math.round(durationSeconds))).toEqual([2, 1, 2])
  // The loop has no seam: only its frames come again.
  expect(media.segments.some(({ discontinuity }) => discontinuity)).toBe(false)
  const heard = `-hide_banner -t 3 -i ${stage.url} -vn -af volumedetect -f null -`
  const [, decibels] = /mean_volume: (-?[\d.]+) dB/.exec(await stderrOf('ffmpeg', heard.split(' '))) ?? []
  expect(Number(decibels)).toBeGreaterThan(-40)
  const { violations } = await validateHls({ url: stage.url, clock, seconds: 12, graceSeconds: GRACE_SECONDS })
  expect(violations.map(lineOf).filter((line) => !line.includes('Content-Encoding'))).toEqual([])
  await putSlate(stage.id, image)
  await until(async () => {
    const { segments } = (await playlistOf(stage)).media
    return segments.some(({ discontinuity }) => discontinuity)
  }, 'the other slate')
  await live.v2('DELETE', `/channels/${stage.id}/slate`)
  await until(async () => (await fetch(stage.url)).status === 404, 'nothing is shown')
  await stage.stop()
})

test('an ffmpeg of the slate that is killed is started again, and a channel that stops leaves nothing behind', async () => {
  const film = clip(
    '-f lavfi -i testsrc2=s=640x360:r=30 -t 20 -c:v libx264 -preset ultrafast -crf 35 -pix_fmt yuv420p',
    'mp4',
  )
  const stage = await staged(film, 'video/mp4')
  const opened = fetch(stage.url)
  let killed = 0
  await until(async () => {
    const [pid] = await workingIn(engineFolder(stage))
    if (pid === undefined) return false
    process.kill(pid, 'SIGKILL')
    return ++killed > 0
  }, 'an ffmpeg of the slate')
  await opened
  await until(async () => (await fetch(stage.url)).status === 200, 'the slate after another try')
  expect(readdirSync(engineFolder(stage))).toEqual([])
  expect(await workingIn(engineFolder(stage))).toEqual([])
  await stage.stop()
  await until(async () => (await stage.status()) === 'stopped', 'the engine stops')
  expect(readdirSync(join(live.running.dataDir, 'channels'))).not.toContain(stage.engineId)
  expect((await fetch(stage.url)).status).toBe(404)
})

test('a channel without a slate says at once that nothing plays', async () => {
  const stage = await staged(image)
  await live.v2('DELETE', `/channels/${stage.id}/slate`)
  const answer = await fetch(stage.url)
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([404, '2'])
  expect(await workingIn(engineFolder(stage))).toEqual([])
  await stage.stop()
})
