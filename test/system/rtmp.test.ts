import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Frame } from '../../src/media/frame.ts'
import { RtmpClient, opening } from '../media/rtmp/client.ts'
import { listenFor, type Place, type RtmpPublication } from '../media/rtmp/publications.ts'
import { until } from '../support/until.ts'

let place: Place
beforeEach(async () => {
  place = await listenFor({}, ({ query }) => (query.get('token') === 'bad' ? 'Unauthorized: Invalid token' : null))
})
afterEach(() => place.stop())

describe('ffmpeg pushes', () => {
  test('H.264 and AAC come out as frames that decode, with the size and the timestamps of the source', async () => {
    expect(await push('v2/pub/studio?token=good&sourceId=a', ['-bf', '0'])).toMatchObject({ status: 0 })
    const [publication] = place.publications
    await until(() => publication?.ends === 1)
    const { request, trackLists, frames, reason, bytesIn } = publication as RtmpPublication
    expect([request.app, request.name, request.peer]).toEqual(['v2/pub', 'studio', '127.0.0.1'])
    expect([...request.query]).toEqual([
      ['token', 'good'],
      ['sourceId', 'a'],
    ])
    expect(trackLists).toHaveLength(1)
    expect(trackLists[0]).toMatchObject([
      { kind: 'video', codec: 'h264', width: 320, height: 240 },
      { kind: 'audio', codec: 'aac', sampleRate: 44_100, channels: 2 },
    ])
    expect(reason).toBe('left')
    const video = frames.filter(({ kind }) => kind === 'video')
    expect(video).toHaveLength(60)
    expect(video[0]?.key).toBe(true)
    expect(video.every(({ timeUs, decodeTimeUs }) => timeUs === decodeTimeUs)).toBe(true)
    expect(bytesIn).toBeGreaterThan(frames.reduce((sum, { data }) => sum + data.length, 0))
    expect(await decodedFrames(publication as RtmpPublication, video)).toBe(60)
    const last = frames.filter(({ kind }) => kind === 'audio').at(-1)
    expect(Math.abs((last?.timeUs ?? 0) - (video.at(-1)?.timeUs ?? 0))).toBeLessThan(100_000)
  })

  test('B-frames keep their decoding order and their presentation times', async () => {
    await push('v2/pub/studio', ['-bf', '2'])
    const [publication] = place.publications
    await until(() => publication?.ends === 1)
    const video = publication?.frames.filter(({ kind }) => kind === 'video') ?? []
    const shown = video.map(({ timeUs }) => timeUs)
    expect(shown).not.toEqual(shown.toSorted((a, b) => a - b))
    expect(video.every(({ timeUs, decodeTimeUs }) => timeUs >= decodeTimeUs)).toBe(true)
    expect(await decodedFrames(publication as RtmpPublication, video)).toBe(60)
  })

  test('the text of a refusal reaches the user of the publisher', async () => {
    const { status, errors } = await push('v2/pub/studio?token=bad', ['-bf', '0'])
    expect(status).not.toBe(0)
    expect(errors).toContain('Unauthorized: Invalid token')
    await until(() => place.connections() === 0)
    expect(place.publications).toHaveLength(0)
  })

  test.each([
    ['at its pace', ['-re']],
    ['with little look ahead', ['-probesize', '20000', '-analyzeduration', '0']],
  ])('a remuxed transport stream, %s, is accepted: its first AAC configuration is empty', async (_, input) => {
    const { status, errors } = await copy(input)
    expect(errors).not.toContain('Server error')
    expect(status).toBe(0)
    const [publication] = place.publications
    await until(() => publication?.ends === 1)
    expect(publication?.trackLists.at(-1)?.map(({ codec }) => codec)).toEqual(['h264', 'aac'])
    const video = publication?.frames.filter(({ kind }) => kind === 'video') ?? []
    expect(await decodedFrames(publication as RtmpPublication, video)).toBeGreaterThan(50)
  })

  test('a publication that is cut ends at once, and the publisher shows the reason', async () => {
    const pushing = push('v2/pub/studio', ['-bf', '0'], ['-t', '60'])
    await until(() => (place.publications[0]?.frames.length ?? 0) > 10)
    const publication = place.publications[0] as RtmpPublication
    await publication.request.cut('Unauthorized: Invalid token')
    const atTheEnd = publication.frames.length
    expect([publication.ends, publication.reason]).toEqual([1, 'cut'])
    const { status, errors } = await pushing
    expect(status).not.toBe(0)
    expect(errors).toContain('Server error: Unauthorized: Invalid token')
    expect(publication.frames).toHaveLength(atTheEnd)
    await until(() => place.connections() === 0)
  })
})

test('fifty publishers one after another leave nothing behind', async () => {
  for (let round = 0; round < 50; round++) {
    const client = await RtmpClient.open(place.port)
    await client.publish('v2/pub', 'again')
    if (round % 2 === 0) client.socket.end()
    else client.socket.resetAndDestroy()
    await client.closed
  }
  await until(() => place.connections() === 0 && place.publications.every(({ ends }) => ends === 1))
  expect(place.publications).toHaveLength(50)
})

test('a refusal is the last message that a client gets, even if it continues to send', async () => {
  const client = await RtmpClient.open(place.port)
  client.socket.write(opening('v2/pub', 'studio?token=bad'))
  client.socket.write(Buffer.alloc(500_000))
  expect(await client.status()).toEqual({
    level: 'error',
    code: 'NetStream.Publish.Denied',
    description: 'Unauthorized: Invalid token',
  })
  await client.closed
  await until(() => place.connections() === 0)
})

const SOURCES = ['-f', 'lavfi', '-i', 'testsrc2=s=320x240:r=30', '-f', 'lavfi', '-i', 'sine=f=440:r=44100']
const CODING = ['-c:v', 'libx264', '-preset', 'ultrafast', '-g', '30', '-threads', '1', '-c:a', 'aac', '-ac', '2']

/** Publishes a transport stream of two seconds without encoding it again. */
async function copy(input: readonly string[]): Promise<{ status: number; errors: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-rtmp-'))
  const file = join(folder, 'two-seconds.ts')
  await ffmpeg([...SOURCES, '-t', '2', ...CODING, '-bf', '0', '-f', 'mpegts', file])
  const target = ['-c', 'copy', '-f', 'flv', `rtmp://127.0.0.1:${place.port}/v2/pub/studio`]
  const copied = await ffmpeg([...input, '-i', file, ...target])
  await rm(folder, { recursive: true })
  return copied
}

async function push(path: string, video: string[], length = ['-t', '2']): Promise<{ status: number; errors: string }> {
  const speed = length[1] === '60' ? ['-re'] : []
  const target = ['-f', 'flv', `rtmp://127.0.0.1:${place.port}/${path}`]
  return ffmpeg([...speed, ...SOURCES, ...length, ...CODING, ...video, ...target])
}

async function ffmpeg(argv: readonly string[]): Promise<{ status: number; errors: string }> {
  const child = spawn('ffmpeg', ['-v', 'error', '-nostdin', ...argv], { stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (data: Buffer) => {
    errors += data.toString()
  })
  const [status] = (await once(child, 'close')) as [number]
  return { status, errors }
}

/** The number of frames that a decoder makes of the video, without an error. */
async function decodedFrames({ trackLists }: RtmpPublication, frames: readonly Frame[]): Promise<number> {
  const argv = ['-v', 'error', '-f', 'h264', '-i', 'pipe:0', '-f', 'framecrc', '-vsync', 'passthrough', 'pipe:1']
  const child = spawn('ffmpeg', argv, { stdio: ['pipe', 'pipe', 'pipe'] })
  let out = ''
  let errors = ''
  child.stdout.on('data', (data: Buffer) => {
    out += data.toString()
  })
  child.stderr.on('data', (data: Buffer) => {
    errors += data.toString()
  })
  const config = trackLists[0]?.find(({ kind }) => kind === 'video')?.config ?? Buffer.alloc(0)
  child.stdin.end(
    Buffer.concat([parameterSets(Buffer.from(config)), ...frames.map(({ data }) => annexB(Buffer.from(data)))]),
  )
  await once(child, 'close')
  expect(errors).toBe('')
  return out.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length
}

/** One sequence parameter set and one picture parameter set, as x264 writes them. */
function parameterSets(config: Buffer): Buffer {
  const spsEnd = 8 + config.readUInt16BE(6)
  const pps = config.subarray(spsEnd + 3, spsEnd + 3 + config.readUInt16BE(spsEnd + 1))
  return Buffer.concat([START_CODE, config.subarray(8, spsEnd), START_CODE, pps])
}

const START_CODE = Buffer.from([0, 0, 0, 1])

function annexB(data: Buffer): Buffer {
  const units: Buffer[] = []
  for (let at = 0; at < data.length; at += 4 + data.readUInt32BE(at)) {
    units.push(START_CODE, data.subarray(at + 4, at + 4 + data.readUInt32BE(at)))
  }
  return Buffer.concat(units)
}
