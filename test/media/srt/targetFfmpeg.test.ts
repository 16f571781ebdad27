import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import type { SenderEnd } from '../../../src/media/publishing.ts'
import { TsWriter } from '../../../src/media/mpegts/writer.ts'
import { SrtTarget } from '../../../src/media/srt/target.ts'
import { clip } from '../../support/clips.ts'
import { silentLog } from '../../support/log.ts'
import { lossyLink } from '../../support/lossyUdp.ts'
import { ownPort } from '../../support/ownPort.ts'
import { until } from '../../support/until.ts'
import { H264_AAC, HEVC_OPUS, type Media, readTs } from '../mpegts/clips.ts'

const PASSPHRASE = 'correct-horse_battery'
/** The bytes as they come, without looking at them. */
const COPY = ['-map', '0', '-c', 'copy', '-flush_packets', '1', '-f', 'data', '-']

interface Calling {
  readonly target: SrtTarget
  readonly ends: SenderEnd[]
  readonly isReady: () => boolean
}

async function call(port: number, parameters: object): Promise<Calling> {
  const socket = createSocket('udp4')
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const ends: SenderEnd[] = []
  let isReady = false
  const target = new SrtTarget({
    socket,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    streamId: 'a:b',
    passphrase: null,
    keyBytes: 16,
    latencyMs: 2000,
    ready: () => (isReady = true),
    accepted: () => undefined,
    ended: (how) => ends.push(how),
    ...parameters,
  })
  return { target, ends, isReady: () => isReady }
}

/** A call that ffmpeg takes: it begins to listen after some time. */
async function accepted(port: number, parameters: object): Promise<SrtTarget> {
  return until(async () => {
    const { target, ends, isReady } = await call(port, parameters)
    await until(() => isReady() || ends.length > 0)
    return isReady() && target
  })
}

interface Way {
  readonly query?: string
  readonly parameters?: object
  readonly loss?: number
  readonly latencyMs?: number
  /** The feed ends with its last frame. */
  readonly endsAtOnce?: boolean
}

/** Sends to ffmpeg as listener. Returns the bytes that it read, and what was sent again. */
async function throughFfmpeg(media: Media, way: Way) {
  const { query = '', parameters = {}, loss, latencyMs = 2000, endsAtOnce = false } = way
  const port = await ownPort()
  const url = `srt://127.0.0.1:${port}?mode=listener&latency=${latencyMs * 1000}${query}`
  const ffmpeg = spawn('ffmpeg', ['-v', 'error', '-f', 'data', '-i', url, ...COPY])
  const parts: Buffer[] = []
  ffmpeg.stdout.on('data', (data: Buffer) => parts.push(data))
  const over = once(ffmpeg, 'close')
  const link = loss === undefined ? null : await lossyLink(port, 11)
  const target = await accepted(link?.port ?? port, { latencyMs, ...parameters })
  target.tracks(media.tracks)
  link?.lose(loss ?? 0)
  for (const frame of media.frames) {
    // Until all is acknowledged: what had waited for seconds, because ffmpeg was stopped, would make the target drop the next frame.
    if (target.waitingBytes >= 60_000) await until(() => target.waitingBytes === 0)
    target.frame(frame)
  }
  // It shows packets after the latency, and those that still wait are lost with a goodbye.
  const expected = written(media)
  if (!endsAtOnce) await until(() => Buffer.concat(parts).length >= expected.length)
  const { dropped, resent } = target
  target.end()
  await over
  link?.close()
  return { isSame: Buffer.concat(parts).equals(expected), dropped, resent }
}

function written({ tracks, frames }: Media): Buffer {
  const writer = new TsWriter()
  writer.setTracks(tracks)
  return Buffer.concat(frames.map((frame) => writer.frames([frame]) ?? Buffer.alloc(0)))
}

// An encoder would stand in the way of what is sent meanwhile.
beforeAll(() => {
  for (const args of [H264_AAC, HEVC_OPUS]) clip(args, 'ts')
})

// At once: ffmpeg shows packets after the latency, which most of the time is waited for.
test.concurrent.each([
  ['H.264 and AAC', H264_AAC, {}],
  ['HEVC and Opus', HEVC_OPUS, {}],
  ...([16, 24, 32] as const).map(
    (keyBytes) =>
      [
        `H.264 and AAC, encrypted with keys of ${keyBytes} bytes that change`,
        H264_AAC,
        {
          query: `&passphrase=${PASSPHRASE}`,
          parameters: { passphrase: PASSPHRASE, keyBytes, packetsOfKey: 100 },
        },
      ] as const,
  ),
  ['H.264 and AAC, with a tenth of the packets lost each way', H264_AAC, { loss: 0.1 }],
  ['H.264 and AAC, which ends before it has shown all of it', H264_AAC, { endsAtOnce: true }],
] as const)('ffmpeg as listener reads each byte of %s', async (_, args, way: Way) => {
  const { isSame, dropped, resent } = await throughFfmpeg(readTs(clip(args, 'ts')), way)
  expect([isSame, dropped]).toEqual([true, 0])
  // An acknowledgement that comes late has the latest packet sent again, also where none is lost.
  expect(resent).toBeGreaterThanOrEqual(way.loss === undefined ? 0 : 1)
})

test('ffmpeg as listener with another passphrase is a target that refuses', async () => {
  const port = await ownPort()
  const url = `srt://127.0.0.1:${port}?mode=listener&passphrase=another-passphrase`
  const ffmpeg = spawn('ffmpeg', ['-v', 'quiet', '-f', 'data', '-i', url, ...COPY])
  const refusal = await until(async () => {
    const { ends } = await call(port, { passphrase: PASSPHRASE })
    const end = await until(() => ends[0])
    return end.kind === 'refused' && end
  })
  expect(refusal.message).toMatch(/passphrase/)
  const over = once(ffmpeg, 'close')
  ffmpeg.kill('SIGKILL')
  await over
})
