import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import type { Ffmpeg, FfmpegJob } from '../../../src/media/ffmpeg/ffmpeg.ts'
import type { Frame } from '../../../src/media/frame.ts'
import { CLOSED, type PullProblem, SILENT_SECONDS } from '../../../src/media/pulling.ts'
import { RtspPull } from '../../../src/media/rtsp/pull.ts'
import { strictLog } from '../../support/log.ts'
import { until } from '../../support/until.ts'
import { deltaFrame, H264, keyframe, TsMuxer, VIDEO_PID } from '../mpegts/muxer.ts'

/** A pull from a server of which the test says what it sends. */
async function pulling() {
  const served = Promise.withResolvers<Socket>()
  const server = createServer((socket) => served.resolve(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const exit = Promise.withResolvers<object>()
  const process = { exited: exit.promise, stop: () => Promise.resolve() }
  const jobs: FfmpegJob[] = []
  const run = (job: FfmpegJob) => {
    jobs.push(job)
    return { ok: true, value: process }
  }
  const ends: PullProblem[] = []
  const frames: Frame[] = []
  const pull = new RtspPull({
    socket,
    clock: systemClock,
    log: strictLog,
    ffmpeg: { run } as unknown as Ffmpeg,
    name: 'a pull',
    url: new URL('rtsp://127.0.0.1/x'),
    maxFrameBytes: 1e6,
    sink: { tracks: () => undefined, frame: (frame) => void frames.push(frame), end: () => undefined },
    leftOut: () => undefined,
    ended: (problem) => void ends.push(problem),
  })
  const source = await served.promise
  onTestFinished(() => {
    pull.end()
    source.destroy()
    server.close()
  })
  await pull.start()
  return { pull, ends, frames, source, socket, jobs, exits: () => exit.resolve({ code: 0, signal: null, tail: '' }) }
}

test('a source that has sent nothing for ten looks is given up, and one that has sent something is not', async () => {
  const { pull, ends, source } = await pulling()
  const look = (times: number) => {
    for (let each = 0; each < times; each++) pull.tick()
  }
  look(SILENT_SECONDS)
  source.write('RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n')
  await until(() => pull.bytesIn > 0)
  look(SILENT_SECONDS)
  expect(ends).toEqual([])
  look(1)
  expect(ends).toMatchObject([{ kind: 'lost', message: 'The source has sent nothing for 10 s' }])
  await once(source, 'close')
})

test('a source that sends the bytes of an answer one by one, and never all of them, is given up', async () => {
  const { pull, ends, source } = await pulling()
  for (let look = 0; ends.length === 0 && look <= 2 * SILENT_SECONDS; look++) {
    const before = pull.bytesIn
    source.write('R')
    await until(() => pull.bytesIn > before)
    pull.tick()
  }
  expect(ends).toMatchObject([{ kind: 'lost', message: 'The source did not answer in time' }])
})

test('no more is read of a source that floods with answers until the next tick', async () => {
  const { pull, ends, source, socket } = await pulling()
  source.write('RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n'.repeat(101))
  await until(() => socket.isPaused())
  pull.tick()
  expect([socket.isPaused(), ends]).toEqual([false, []])
})

test('a source that left took its last frame with it, since ffmpeg passes it on when its connection ends', async () => {
  const { ends, frames, source, socket, jobs, exits } = await pulling()
  const [job] = jobs
  const ffmpeg = connect(Number(/127\.0\.0\.1:(\d+)/.exec(job?.script ?? '')?.[1]), '127.0.0.1').resume()
  await once(ffmpeg, 'connect')
  const muxer = new TsMuxer()
  job?.stdout?.(Buffer.concat([muxer.tables([{ type: H264, pid: VIDEO_PID }]), muxer.video(keyframe(), 0)]))
  job?.stdout?.(muxer.video(deltaFrame(), 3600))
  source.end()
  await Promise.all([once(socket, 'close'), once(ffmpeg, 'end')])
  expect([frames.length, ends]).toEqual([1, []])
  job?.stdout?.(muxer.video(deltaFrame(), 7200))
  exits()
  await until(() => ends.length > 0)
  expect([frames.length, ends]).toEqual([3, [{ kind: 'lost', ...CLOSED }]])
})
