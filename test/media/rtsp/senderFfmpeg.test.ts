import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { splitNals } from '../../../src/media/codecs/nalUnits.ts'
import type { Frame } from '../../../src/media/frame.ts'
import { ownPort } from '../../support/ownPort.ts'
import { until } from '../../support/until.ts'
import { encoded, type Wanted } from '../ffmpeg/frames.ts'
import { send } from './sending.ts'

/** What is sent to ffmpeg, which listens as an RTSP server, and what it reads of it. */
async function throughFfmpeg(wanted: Wanted): Promise<{ sent: readonly Frame[]; got: string[][] }> {
  const media = await encoded(wanted)
  const port = await ownPort()
  const url = `rtsp://127.0.0.1:${port}/live/show`
  const args = `-v error -rtsp_flags listen -i ${url} -map 0 -c copy -f framemd5 -`
  const ffmpeg = spawn('ffmpeg', args.split(' '), { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void ffmpeg.kill('SIGKILL'))
  let text = ''
  ffmpeg.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  const over = once(ffmpeg, 'close')
  const { hub, told, sender } = await until(async () => send(port).catch(() => null))
  hub.tracks(media.tracks)
  const sent = media.frames.slice(media.frames.findIndex(({ kind }) => kind === 'video'))
  for (const [at, frame] of sent.entries()) {
    hub.frame(frame)
    if (at === 0) await until(() => told.isAccepted)
    await until(() => sender.waitingBytes < 60_000)
  }
  hub.end()
  await over
  const lines = text.split('\n').filter((line) => /^\d/.test(line))
  return { sent, got: lines.map((line) => line.split(/, */)) }
}

const zeros = (count: number): Buffer => Buffer.alloc(count)
/** What ffmpeg has around a NAL unit: the first zero of a start code is at the end of a frame of HEVC before it. */
const AROUND = { h264: [3, 0], hevc: [2, 1] } as const

/** As ffmpeg has a frame. */
function hashOf({ data }: Frame, [before, after]: readonly [number, number] | readonly []): string {
  const nals = before === undefined ? null : splitNals(Buffer.from(data))
  const parts = nals?.flatMap((nal) => [zeros(before ?? 0), Buffer.from([1]), nal, zeros(after ?? 0)]) ?? [data]
  return createHash('md5').update(Buffer.concat(parts)).digest('hex')
}

test.each([
  { video: 'h264', audio: 'aac', bframes: 2 },
  { video: 'hevc', audio: 'opus' },
  { video: 'vp8', audio: 'pcma' },
  { video: 'h264', audio: 'pcmu' },
] as const)('ffmpeg as RTSP server reads each frame of $video and $audio', async (codecs) => {
  const { sent, got } = await throughFfmpeg({ ...codecs, seconds: 2, gop: 25 })
  for (const [stream, kind] of (['video', 'audio'] as const).entries()) {
    const around = kind === 'video' && codecs.video !== 'vp8' ? AROUND[codecs.video] : ([] as const)
    const frames = sent.filter((frame) => frame.kind === kind)
    const hashes = got.filter(([of]) => of === String(stream)).map((line) => line[5])
    expect(hashes).toHaveLength(frames.length)
    // Keyframes have their parameter sets in front of them, and nothing follows the last frame.
    for (const [at, frame] of frames.slice(0, -1).entries())
      if (kind === 'audio' || !frame.key || codecs.video === 'vp8')
        expect(hashes[at], `${kind} ${at}`).toBe(hashOf(frame, around))
  }
})
