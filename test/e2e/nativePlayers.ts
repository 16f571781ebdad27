import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { frameReader } from './countedPublisher.ts'

const GREY = 'videoconvert ! video/x-raw,format=GRAY8 ! fdsink fd=1 sync=true'
/** A sink without back pressure would make the player buffer, and hang, as one with a screen never does. */
const AUDIO = 'fakesink sync=true'

/** How a native player plays a URL, and writes its frames to standard output, in grey. */
export const NATIVE: Readonly<Record<string, (url: string) => string[]>> = {
  ffmpeg: (url) => ['ffmpeg', '-v', 'error', '-i', url, '-an', '-vf', 'format=gray', '-f', 'rawvideo', '-'],
  mpv: (url) => [
    'mpv',
    '--no-config',
    '--no-audio',
    '--vf=format=gray',
    '--o=-',
    '--of=rawvideo',
    '--ovc=rawvideo',
    url,
  ],
  'GStreamer playbin3': (url) => gstreamer('playbin3', url),
  'GStreamer playbin': (url) => gstreamer('playbin', url),
}

const gstreamer = (element: string, url: string): string[] => {
  return ['gst-launch-1.0', '-q', element, `uri=${url}`, `audio-sink=${AUDIO}`, `video-sink=${GREY}`]
}

/** The continuous integration has all of them, so a missing one is a failure there. */
export function isMissing(name: string): boolean {
  const [program = ''] = NATIVE[name]?.('') ?? []
  const isThere = (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(`${folder}/${program}`))
  return !isThere && process.env['CI'] === undefined
}

/** Longer than any of them needs on a busy machine. */
const TIMEOUT_MS = 60_000

/** Plays until it has shown this many frames, and returns their numbers. @throws if it ends before, or hangs */
export async function playNatively(name: string, url: string, frames: number): Promise<number[]> {
  const [program = '', ...args] = NATIVE[name]?.(url) ?? []
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const numbers: number[] = []
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint = (complaint + text).slice(-2000)))
  const read = frameReader((number) => {
    numbers.push(number)
    if (numbers.length === frames) child.kill('SIGKILL')
  })
  child.stdout.on('data', read)
  const timeout = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS)
  await new Promise<void>((resolve, reject) => child.once('error', reject).once('close', () => resolve()))
  clearTimeout(timeout)
  if (numbers.length < frames) throw new Error(`${name} showed ${numbers.length} frames: ${complaint}`)
  return numbers.slice(0, frames)
}
