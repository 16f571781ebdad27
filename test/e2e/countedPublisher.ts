import { spawn } from 'node:child_process'

/** Frames per second. */
export const RATE = 30
const WIDTH = 320
const HEIGHT = 180
/** 9 minutes of frames. */
const BITS = 14

/** A column of 20 pixels for each bit of the frame number, white for 1, the lowest bit at the left. */
const columnOf = (bit: number): string =>
  `drawbox=x=${20 + bit * 20}:y=20:w=20:h=140:color=white:t=fill:enable='gte(mod(n,${2 ** (bit + 1)}),${2 ** bit})'`

const COLUMNS = Array.from({ length: BITS }, (_, bit) => columnOf(bit)).join(',')

export interface CountedPublisher {
  /** The number of the last encoded frame. */
  latest(): number
  stop(): void
}

/**
 * A publisher over RTMP with usual settings, a keyframe every two seconds, and the frame number drawn into each frame.
 */
export function countedPublisher(url: string): CountedPublisher {
  const source = ['-re', '-f', 'lavfi', '-i', `color=black:size=${WIDTH}x${HEIGHT}:rate=${RATE},${COLUMNS}`]
  const tone = ['-re', '-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000']
  const video = '-c:v libx264 -preset ultrafast -tune zerolatency -pix_fmt yuv420p -fps_mode passthrough'.split(' ')
  const args = ['-v', 'error', '-progress', 'pipe:1', '-stats_period', '0.1', ...source, ...tone, ...video]
  const child = spawn('ffmpeg', [...args, '-g', `${2 * RATE}`, '-c:a', 'aac', '-f', 'flv', url], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let latest = 0
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    latest = Number(/.*^frame=(\d+)/ms.exec(text)?.[1] ?? latest)
  })
  return { latest: () => latest, stop: () => child.kill('SIGKILL') }
}

const BYTES = WIDTH * HEIGHT

/** Reads the numbers from rows of grey frames, which arrive in chunks of any size. */
export function frameReader(found: (number: number) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0)
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    for (; rest.length >= BYTES; rest = rest.subarray(BYTES)) found(numberOf(rest))
  }
}

function numberOf(grey: Buffer): number {
  let number = 0
  for (let bit = 0; bit < BITS; bit++) if ((grey[90 * WIDTH + 30 + bit * 20] ?? 0) > 128) number |= 1 << bit
  return number
}
