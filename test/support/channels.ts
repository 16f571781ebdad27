import { type ChildProcess, spawn } from 'node:child_process'
import { readdir, readlink } from 'node:fs/promises'
import { clipFile } from './clips.ts'

const children = new Set<ChildProcess>()

/** Two small tracks of ten seconds. */
const SOURCES =
  '-f lavfi -i testsrc2=size=320x180:rate=25:duration=10 -f lavfi -i sine=frequency=440:sample_rate=48000:duration=10'
const CODECS = '-c:v libx264 -preset ultrafast -tune zerolatency -bf 0 -g 25 -pix_fmt yuv420p -c:a aac'

/**
 * A publisher that pushes two small tracks to `rtmp://…` or `srt://…`, in real time or `speed` times as fast. They were encoded before. Its
 * errors are on its `stderr`.
 */
export function pushTo(url: string, speed = 1): ChildProcess {
  const input = ['-stream_loop', '-1', '-f', 'flv', '-i', clipFile(`${SOURCES} ${CODECS}`, 'flv')]
  const args = [
    '-hide_banner',
    '-loglevel',
    'error',
    '-readrate',
    String(speed),
    ...input,
    '-c',
    'copy',
    '-f',
    url.startsWith('srt:') ? 'mpegts' : 'flv',
    url,
  ]
  return ended(spawn('ffmpeg', args, { stdio: ['ignore', 'ignore', 'pipe'] }))
}

/** What a publisher said until its end. */
export async function textOf({ stderr }: ChildProcess): Promise<string> {
  return stderr === null ? '' : (await stderr.toArray()).join('')
}

/** Hertz of the audio tracks of `pushTones`. Their PIDs follow each other. */
export const TONES = [440, 880, 1320]
export const TONE_PID = 0x101

/** A publisher that pushes a picture and three tones to `srt://…`, in real time. They were encoded before. */
export function pushTones(url: string): ChildProcess {
  const sines = TONES.map((tone) => `-f lavfi -i sine=frequency=${tone}:sample_rate=48000:duration=20`)
  const inputs = ['-f lavfi -i testsrc2=size=160x90:rate=25:duration=20', ...sines]
  const clip = clipFile(`${inputs.join(' ')} ${inputs.map((_, at) => `-map ${at}`).join(' ')} ${CODECS} -ac 2`, 'ts')
  const input = ['-hide_banner', '-loglevel', 'error', '-readrate', '1', '-stream_loop', '-1', '-i', clip]
  const output = ['-map', '0', '-c', 'copy', '-f', 'mpegts', '-mpegts_start_pid', String(TONE_PID - 1), url]
  return ended(spawn('ffmpeg', [...input, ...output], { stdio: 'ignore' }))
}

/** `endChildren` kills it. */
export function ended(child: ChildProcess): ChildProcess {
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

export function endChildren(): void {
  for (const child of children) child.kill('SIGKILL')
}

/** Processes with this working folder. */
export async function workingIn(folder: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const cwds = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')))
  return pids.filter((_, at) => cwds[at] === folder).map(Number)
}
