import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { validateHls } from '../hls/validator.ts'
import { lineOf } from '../hls/violation.ts'
import { encoded } from '../media/ffmpeg/frames.ts'
import { enhancedMessages, ofTrack, PACKET, packetTypeOf } from '../media/rtmp/enhanced.ts'
import { endChildren, pushTones, TONE_PID, TONES } from '../support/channels.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { RtmpPublisher } from '../support/rtmpPublisher.ts'
import { until } from '../support/until.ts'

const run = promisify(execFile)
const LADDER = {
  name: 'tiny',
  video: [
    { width: 160, height: 90, bitrate: 150_000 },
    { width: 96, height: 54, bitrate: 80_000 },
  ],
}
let live: ChannelsClient
beforeAll(async () => {
  live = await runChannels()
})
afterAll(async () => {
  endChildren()
  await live.close()
})

/** The tone that a stream of the master playlist has, hertz, by how often its wave passes zero. */
async function toneOf(url: string, stream: string): Promise<number | undefined> {
  const raw = ['-map', stream, '-t', '1', '-ac', '1', '-ar', '48000', '-f', 's16le', '-']
  const { stdout } = await run('ffmpeg', ['-loglevel', 'error', '-i', url, ...raw], { encoding: 'buffer' })
  const samples = new Int16Array(stdout.buffer, stdout.byteOffset, Math.floor(stdout.length / 2))
  const crossings = samples.filter((sample, at) => at > 0 && sample >= 0 !== (samples[at - 1] ?? 0) >= 0).length
  const hertz = ((crossings / 2) * 48_000) / samples.length
  return TONES.find((tone) => Math.abs(tone - hertz) < 50)
}

test('viewers of a channel choose from the audio tracks that its SRT ingest lists, and one that is absent is not offered', async () => {
  const { id: abrLadderId } = await live.made('POST', '/abr', LADDER)
  const tracks = {
    audio: [
      { pid: TONE_PID + 2, language: 'en', label: 'English' },
      { pid: TONE_PID, language: 'de', label: 'Deutsch' },
      { pid: 0x1ff, language: 'fr', label: 'Français' },
    ],
  }
  const engines = [{ name: 'Main', quality: { abrLadderId } }]
  const ingests = [{ name: 'Studio', type: 'srt-push', tracks, engines }]
  const made = await live.made('POST', '/channels', { name: 'Stage', ingests, distributions: [{ name: 'Web' }] })
  expect(made.ingests[0].tracks).toEqual(tracks)
  await live.made('POST', `/channels/${made.id}/start`)
  const busy = await live.v2('PATCH', `/ingests/${made.ingests[0].id}`, { tracks: { audio: [] } })
  expect([busy.status, busy.json.code]).toEqual([409, 'ingest_in_use'])
  pushTones(`srt://127.0.0.1:${live.running.srtPort}${new URL(made.ingests[0].url).search}`)
  const url = `${live.running.base}/v2/distributions/${made.distributions[0].id}/hls/main.m3u8`
  await until(async () => (await fetch(url)).ok, 'a playlist of the channel')
  const master = await (await fetch(url)).text()
  const listed = [...master.matchAll(/^#EXT-X-MEDIA:.*NAME="([^"]+)",LANGUAGE="([^"]+)",DEFAULT=(\w+)/gm)]
  expect(listed.map((found) => found.slice(1))).toEqual([
    ['English', 'en', 'YES'],
    ['Deutsch', 'de', 'NO'],
  ])
  expect(master.match(/CODECS="avc1[^,"]+,mp4a.40.2"/g)).toHaveLength(2)
  const { stdout } = await run('ffprobe', [
    '-v',
    'error',
    '-show_entries',
    'stream=codec_type:stream_tags=language,comment',
    '-of',
    'json',
    url,
  ])
  const streams: { codec_type: string; tags?: { language?: string; comment?: string } }[] = JSON.parse(stdout).streams
  const audio = streams.flatMap(({ codec_type: type, tags }) =>
    type === 'audio' ? [[tags?.language, tags?.comment]] : [],
  )
  expect(streams.filter(({ codec_type: type }) => type === 'video')).toHaveLength(2)
  expect(audio).toEqual([
    ['en', 'English'],
    ['de', 'Deutsch'],
  ])
  expect(await Promise.all(['0:a:0', '0:a:1'].map((stream) => toneOf(url, stream)))).toEqual([TONES[2], TONES[0]])
  const report = await validateHls({ url, seconds: 60, graceSeconds: 6, isEnough: ({ seen }) => seen.segments >= 16 })
  expect(report.violations.map(lineOf).filter((line) => !line.includes('Content-Encoding'))).toEqual([])
  await live.v2('POST', `/channels/${made.id}/stop`)
})

test('an ingest over enhanced RTMP lists them by their track ids', async () => {
  const tracks = {
    audio: [
      { pid: 3, language: 'en', label: 'English' },
      { pid: 0, language: 'de', label: 'Deutsch' },
    ],
  }
  const ingests = [{ name: 'Studio', type: 'rtmp-push', tracks, engines: [{ name: 'Main' }] }]
  const made = await live.made('POST', '/channels', { name: 'RTMP', ingests, distributions: [{ name: 'Web' }] })
  await live.made('POST', `/channels/${made.id}/start`)
  const [main, further] = await Promise.all([
    encoded({ video: 'h264', audio: 'aac', seconds: 4, size: '160x90', gop: 25 }),
    encoded({ audio: 'aac', seconds: 4 }),
  ])
  const sent = [...enhancedMessages(main), ...enhancedMessages(further).map((one) => ofTrack(3, one))]
  const isStart = (one: (typeof sent)[number]): boolean => packetTypeOf(one) === PACKET.start
  const frames = sent.filter((one) => !isStart(one)).toSorted((a, b) => a.timestamp - b.timestamp)
  const address = `rtmp://127.0.0.1:${live.running.rtmpPort}/live/${made.ingests[0].streamKey}`
  const publisher = await RtmpPublisher.start(address, systemClock, [...sent.filter(isStart), ...frames])
  const url = `${live.running.base}/v2/distributions/${made.distributions[0].id}/hls/main.m3u8`
  await until(async () => (await fetch(url)).ok, 'a playlist of the channel')
  const names = [...(await (await fetch(url)).text()).matchAll(/^#EXT-X-MEDIA:.*NAME="([^"]+)",LANGUAGE="([^"]+)"/gm)]
  expect(names.map((found) => found.slice(1))).toEqual([
    ['English', 'en'],
    ['Deutsch', 'de'],
  ])
  publisher.end()
  await live.v2('POST', `/channels/${made.id}/stop`)
})
