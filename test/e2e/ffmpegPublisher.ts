import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** A publisher with usual settings: H.264 and AAC over RTMP, or over SRT by the address; a keyframe per second. */
export function ffmpegPublisher(url: string, size = '640x360'): { ended: Promise<string>; stop(): Promise<unknown> } {
  const input = [
    '-re',
    '-f',
    'lavfi',
    '-i',
    `testsrc2=size=${size}:rate=25`,
    '-re',
    '-f',
    'lavfi',
    '-i',
    'sine=frequency=440',
  ]
  const video = ['-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency', '-g', '25', '-pix_fmt', 'yuv420p']
  const output = ['-c:a', 'aac', '-ar', '48000', '-f', url.startsWith('srt:') ? 'mpegts' : 'flv', url]
  const child = spawn('ffmpeg', ['-v', 'error', ...input, ...video, ...output], { stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const ended = once(child, 'close').then(() => errors)
  return {
    ended,
    stop() {
      child.kill('SIGKILL')
      return ended
    },
  }
}
