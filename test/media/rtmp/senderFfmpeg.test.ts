import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import type { Frame, FrameSink, TrackInfo } from '../../../src/media/frame.ts'
import { FlvReader } from '../../../src/media/rtmp/flvTags.ts'
import { RtmpIngest } from '../../../src/media/rtmp/ingest.ts'
import { MESSAGE } from '../../../src/media/rtmp/messages.ts'
import type { SenderEnd, SenderMove } from '../../../src/media/publishing.ts'
import { RtmpSender } from '../../../src/media/rtmp/sender.ts'
import { WithSilence } from '../../../src/media/rtmp/silence.ts'
import { clip } from '../../support/clips.ts'
import { strictLog } from '../../support/log.ts'
import { ownPort } from '../../support/ownPort.ts'
import { until } from '../../support/until.ts'

const VIDEO = '-f lavfi -i testsrc2=s=320x240:r=25 -t 4 -c:v libx264 -pix_fmt yuv420p -g 25 -bf 2'
const AUDIO = '-f lavfi -i sine=r=48000:d=4'

interface Clip {
  readonly tracks: readonly TrackInfo[]
  readonly frames: readonly Frame[]
}

function read(flv: Buffer): Clip {
  let tracks: readonly TrackInfo[] = []
  const frames: Frame[] = []
  const sink: FrameSink = {
    tracks: (found) => (tracks = found),
    frame: (frame) => frames.push(frame),
    end: () => undefined,
  }
  const ingest = new RtmpIngest(sink, { clock: { monotonic: () => 0 }, leftOut: () => undefined })
  for (const tag of new FlvReader().push(flv)) {
    if (tag.type === MESSAGE.audio || tag.type === MESSAGE.video) ingest.take(tag)
  }
  return { tracks, frames }
}

/** The first connection is the one that ffmpeg takes. */
async function connected(port: number): Promise<Socket> {
  const tryOnce = async (): Promise<Socket | false> => {
    const socket = connect(port, '127.0.0.1')
    return once(socket, 'connect').then(
      () => socket,
      () => false,
    )
  }
  return until(tryOnce)
}

/** Sends to `ffmpeg -listen 1`. Returns the packets that it read, decoded: stream, presentation time and checksum. */
async function throughFfmpeg({ tracks, frames }: Clip, ...output: string[]): Promise<string[]> {
  const port = await ownPort()
  const url = `rtmp://127.0.0.1:${port}/app/key-1`
  const ffmpeg = spawn('ffmpeg', [
    '-loglevel',
    'error',
    '-listen',
    '1',
    '-f',
    'flv',
    '-i',
    url,
    ...output,
    '-f',
    'framecrc',
    '-',
  ])
  const text: Buffer[] = []
  ffmpeg.stdout.on('data', (data: Buffer) => text.push(data))
  const over = once(ffmpeg, 'close')
  const ends: (SenderEnd | SenderMove)[] = []
  let isAccepted = false
  const sender = new RtmpSender({
    socket: await connected(port),
    clock: systemClock,
    log: strictLog,
    random: systemRandom,
    app: 'app',
    url: `rtmp://127.0.0.1:${port}/app`,
    key: 'key-1',
    ready: () => (isAccepted = true),
    accepted: () => undefined,
    ended: (how) => ends.push(how),
  })
  await until(() => isAccepted)
  const sink = new WithSilence(sender, systemClock)
  sink.tracks(tracks)
  for (const frame of frames) {
    await until(() => sender.waitingBytes === 0)
    sink.frame(frame)
  }
  sink.end()
  await over
  expect([ends, sender.dropped]).toEqual([[], 0])
  const lines = Buffer.concat(text).toString().split('\n')
  return lines.filter((line) => /^\d/.test(line))
}

const ofStream = (lines: readonly string[], index: number): string[] =>
  lines.filter((line) => line.startsWith(`${index},`))

test('another server reads every frame that the sender sends, and can decode it', async () => {
  const sent = read(clip(`${AUDIO} ${VIDEO} -c:a aac`, 'flv'))
  const copied = await throughFfmpeg(sent, '-c', 'copy')
  const sizes = (kind: Frame['kind']) =>
    sent.frames.filter((frame) => frame.kind === kind).map(({ data }) => data.length)
  const read_ = [0, 1].map((index) => ofStream(copied, index).map((line) => Number(line.split(',')[4])))
  expect(read_.map((list) => list.length).toSorted((a, b) => a - b)).toEqual(
    [sizes('video').length, sizes('audio').length].toSorted((a, b) => a - b),
  )
  expect(read_).toContainEqual(sizes('video'))
  expect(read_).toContainEqual(sizes('audio'))
})

test('video without audio arrives with silence, which is silent', async () => {
  const sent = read(clip(VIDEO, 'flv'))
  expect(sent.tracks.map(({ kind }) => kind)).toEqual(['video'])
  const lines = await throughFfmpeg(sent, '-map', '0:a', '-c:a', 'pcm_s16le')
  // The checksum of nothing but zeros is 0 with zeros: Adler-32 as framecrc writes it begins at 0.
  const checksums = new Set(lines.map((line) => line.split(',').at(-1)?.trim()))
  expect(lines.length).toBeGreaterThan(160)
  expect([...checksums]).toEqual(['0x00000000'])
})
