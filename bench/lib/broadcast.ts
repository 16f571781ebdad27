import { execFileSync } from 'node:child_process'
import type { Frame, TrackInfo } from '../../src/media/frame.ts'
import { FlvFrames } from '../../src/media/rtmp/flvFrames.ts'

/** 720p30 of 5 Mbit/s with AAC, in this container. @param more further options of the output */
export function broadcastFile(seconds: number, format: 'flv' | 'matroska', more: readonly string[] = []): Buffer {
  const video = `-f lavfi -i testsrc2=size=1280x720:rate=30:duration=${seconds},noise=alls=20:allf=t`
  const audio = `-f lavfi -i sine=frequency=440:sample_rate=48000:duration=${seconds}`
  const encode = '-c:v libx264 -preset ultrafast -b:v 5M -maxrate 5M -bufsize 5M -g 60 -pix_fmt yuv420p -c:a aac'
  const args = `-v error ${video} ${audio} ${encode}`.split(' ')
  return execFileSync('ffmpeg', [...args, ...more, '-f', format, 'pipe:1'], { maxBuffer: 1 << 28 })
}

/** The same as a publisher over RTMP sends it. */
export function broadcastFrames(
  seconds: number,
  more: readonly string[] = [],
): { tracks: readonly TrackInfo[]; frames: Frame[] } {
  const frames: Frame[] = []
  let tracks: readonly TrackInfo[] = []
  const out = {
    tracks: (all: readonly TrackInfo[]) => void (tracks = all),
    frame: (one: Frame) => void frames.push(one),
  }
  new FlvFrames(['video', 'audio'], out, (timestamp) => timestamp).push(broadcastFile(seconds, 'flv', more))
  return { tracks, frames }
}
