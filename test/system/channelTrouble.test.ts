import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { endChildren, ended, pushTo, textOf } from '../support/channels.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { until } from '../support/until.ts'

const VIDEO = [{ label: '90p', width: 160, height: 90, bitrate: 100_000 }]

let live: ChannelsClient
let abrLadderId: string
beforeAll(async () => {
  live = await runChannels()
  abrLadderId = (await live.made('POST', '/abr', { name: 'tiny', video: VIDEO })).id
})
afterEach(endChildren)
afterAll(() => live.close())

type PushType = 'rtmp-push' | 'srt-push'

/** A channel that runs, and where publishers push to. */
async function startedChannel(type: PushType) {
  const ingests = [{ name: 'Camera', type, engines: [{ name: 'Main', quality: { abrLadderId } }] }]
  const { id, engines, ingests: made } = await live.made('POST', '/channels', { name: 'Stage', ingests })
  await live.made('POST', `/channels/${id}/start`)
  const [{ id: ingestId, url, streamKey }] = made
  const { rtmpPort, srtPort } = live.running
  const rtmp = `rtmp://127.0.0.1:${rtmpPort}/live/${streamKey}`
  const address = type === 'rtmp-push' ? rtmp : `srt://127.0.0.1:${srtPort}${new URL(url).search}`
  return { id: String(id), engineId: String(engines[0].id), ingestId: String(ingestId), address }
}

const reaches = (id: string, status: string) =>
  until(async () => (await live.made('GET', `/channels/${id}`)).status === status, status)

async function stop(id: string): Promise<void> {
  await live.made('POST', `/channels/${id}/stop`)
  await reaches(id, 'stopped')
}

interface Warning {
  readonly requestData: { readonly object: { readonly id: string }; readonly data: { readonly message: string } }
}

async function warningsOf(engineId: string): Promise<string[]> {
  const { data } = (await live.v2('GET', '/logs?type=engine.log.warn&limit=100')).json as { data: Warning[] }
  const own = data.filter(({ requestData }) => requestData.object.id === engineId)
  return own.map(({ requestData }) => requestData.data.message)
}

describe('an engine', () => {
  test.each<{ type: PushType; codec: string; format: string; why: string }>([
    { type: 'srt-push', codec: 'mp2', format: 'mpegts', why: 'Audio codec MPEG audio (MP2, MP3) is not supported' },
    { type: 'rtmp-push', codec: 'mp3', format: 'flv', why: 'Audio codec MP3 is not supported' },
  ])('says once what its publisher sends over $type that cannot be taken', async ({ type, codec, format, why }) => {
    const { id, engineId, address } = await startedChannel(type)
    await reaches(id, 'waiting')
    const source = '-loglevel quiet -re -f lavfi -i sine=sample_rate=44100 -c:a'.split(' ')
    const publish = () => once(ended(spawn('ffmpeg', [...source, codec, '-f', format, address])), 'exit')
    await publish()
    const engine = await until(async () => {
      const read = await live.made('GET', `/engines/${engineId}`)
      return read.statusMessage?.includes(why) ? read : undefined
    }, why)
    // As data, so that the dashboard says it in the language of its reader.
    const codes = engine.statusSentences.map(({ code }: { code: string }) => code)
    expect(codes).toEqual(['publisher_cut', expect.stringMatching(/^audio_codec_/)])
    await publish()
    await stop(id)
    expect(await warningsOf(engineId)).toEqual([expect.stringContaining(`A publisher was cut: ${why}`)])
  })

  test('starts without a folder, as on a full disk, and has thumbnails', async () => {
    const ingests = [{ name: 'Camera', type: 'rtmp-push', engines: [{ name: 'Main', quality: { abrLadderId } }] }]
    const distributions = [{ name: 'Web' }]
    const { id, engines, ...made } = await live.made('POST', '/channels', { name: 'Stage', ingests, distributions })
    await writeFile(join(live.running.dataDir, 'channels', engines[0].id), 'no folder')
    await live.made('POST', `/channels/${id}/start`)
    pushTo(`rtmp://127.0.0.1:${live.running.rtmpPort}/live/${made.ingests[0].streamKey}`, 2)
    await reaches(id, 'playing')
    const path = `/v2/distributions/${made.distributions[0].id}/thumbnails/thumbnail.jpeg`
    const thumbnail = async () => Buffer.from(await (await fetch(live.running.base + path)).arrayBuffer())
    const first = await until(async () => {
      const image = await thumbnail()
      return image.subarray(0, 2).toString('hex') === 'ffd8' ? image : undefined
    }, 'a thumbnail')
    await until(async () => !(await thumbnail()).equals(first), 'another thumbnail')
    await stop(id)
  })

  test.each([
    ['takes another protocol', { type: 'srt-push' }, 'This ingest takes srt-push now, at another address'],
    [
      'has other audio tracks',
      { tracks: { audio: [{ language: 'de', label: 'Deutsch', pid: 1 }] } },
      'The audio tracks of this ingest have changed; connect again',
    ],
  ])('has no publisher any more that connected before its ingest %s', async (_, change, why) => {
    const { id, ingestId, address } = await startedChannel('rtmp-push')
    const publisher = pushTo(address)
    const output = textOf(publisher)
    await reaches(id, 'playing')
    await stop(id)
    await live.made('PATCH', `/ingests/${ingestId}`, change)
    expect(await output).toContain(why)
    expect((await live.made('GET', `/monitoring/ingests/${ingestId}`)).status).not.toBe('connected')
  })
})
