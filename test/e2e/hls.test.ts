import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readInit, readMedia } from '../hls/mp4.ts'
import type { Peer } from './peer.ts'
import { setStage, type Stage } from './sluice.ts'

const run = promisify(execFile)
let stage: Stage

beforeAll(async () => {
  stage = await setStage()
})
afterAll(() => stage.close())

interface Recording {
  state: string
  url?: string
  durationMs?: number
}

describe.each(['h264', 'vp8'])('a browser broadcasts %s over WHIP', (codec) => {
  const streams = [{ streamName: codec }]
  let publisher: Peer
  let viewer: Peer

  beforeAll(async () => {
    const { token } = await stage.token('publish', { streams, record: true })
    ;[publisher, viewer] = await Promise.all([stage.peer(), stage.peer()])
    expect(await publisher.publish({ url: stage.whip(codec), token, codec })).toBe('ok')
  })

  test('viewers watch it in hls.js, and every segment begins with a keyframe', async () => {
    const url = stage.hls(codec)
    await expect.poll(() => viewer.hls({ url })).toBe('ok')
    await expect
      .poll(() => viewer.played())
      .toSatisfy(({ frames, audioBytes, currentTime }) => frames > 50 && audioBytes > 1000 && currentTime > 2)
    const master = await (await fetch(url)).text()
    const media = await fetch(new URL(master.trim().split('\n').at(-1) ?? '', url))
    const playlist = await media.text()
    expect(playlist).toContain('#EXT-X-INDEPENDENT-SEGMENTS')
    const piece = async (name: string) => Buffer.from(await (await fetch(new URL(name, media.url))).arrayBuffer())
    const init = readInit(await piece(/init-[^"]+/.exec(playlist)?.[0] ?? ''))
    const begins = await Promise.all(
      (playlist.match(/^s\d+\.m4s$/gm) ?? []).map(async (name) => {
        const tracks = readMedia(await piece(name), init)
        return tracks.find(({ id }) => init.find((one) => one.id === id)?.kind === 'video')?.samples[0]?.key
      }),
    )
    expect(new Set(begins)).toEqual(new Set([true]))
    const longest = Number(/#EXT-X-TARGETDURATION:(\d+)/.exec(playlist)?.[1])
    for (const [, seconds] of playlist.matchAll(/#EXTINF:([\d.]+)/g))
      expect(Math.round(Number(seconds))).toBeLessThanOrEqual(longest)
  })

  test('its recording plays', async () => {
    await publisher.stop()
    const list = async () => (await stage.api('GET', `/api/recordings?streamName=${codec}`)).data as Recording[]
    await expect.poll(async () => (await list())[0]?.state).toBe('completed')
    const [recording] = await list()
    const headers = ['-headers', `Authorization: Bearer ${stage.secret}\r\n`]
    const args = ['-v', 'error', '-count_frames', '-show_streams', '-of', 'json', ...headers]
    const { stdout } = await run('ffprobe', [...args, stage.server.url + recording?.url])
    const { streams: found } = JSON.parse(stdout) as { streams: { codec_name: string; nb_read_frames: string }[] }
    expect(found.map((stream) => stream.codec_name)).toEqual(['h264', 'aac'])
    expect(Number(found[0]?.nb_read_frames)).toBeGreaterThan(50)
    expect(recording?.durationMs).toBeGreaterThan(2000)
  })
})
