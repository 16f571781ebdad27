import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { SrtTarget } from '../../src/media/srt/target.ts'
import { silentLog } from '../../test/support/log.ts'
import { broadcastFrames } from './broadcast.ts'

/** Of the media that goes round until the connection ends. */
export const ROUND_SECONDS = 2
const SMALL = '-s 320x180 -r 25 -g 25 -b:v 300k -maxrate 300k -bufsize 300k'.split(' ')

type Media = ReturnType<typeof broadcastFrames>

export interface SrtBroadcast {
  readonly ended: Promise<number>
  /** That were sent until now. */
  bytes(): number
  end(): void
}

/** About 0.4 Mbit/s, which many encoders may share. */
export const smallBroadcast = (): Media => broadcastFrames(ROUND_SECONDS, SMALL)

/**
 * Broadcasts over SRT from this process, with AES-128 if the address has a passphrase.
 * @param media of `ROUND_SECONDS`
 * @returns when the connection has ended, milliseconds since 1970, and the function that ends it
 */
export async function callOverSrt(address: string, media: Media): Promise<SrtBroadcast> {
  const { port, searchParams } = new URL(address)
  const socket = createSocket('udp4')
  socket.connect(Number(port), '127.0.0.1')
  await once(socket, 'connect')
  const [ready, over] = [Promise.withResolvers<void>(), Promise.withResolvers<number>()]
  const target = new SrtTarget({
    socket,
    runs: null,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    streamId: searchParams.get('streamid') ?? '',
    passphrase: searchParams.get('passphrase'),
    keyBytes: 16,
    latencyMs: 120,
    ready: ready.resolve,
    accepted: () => undefined,
    ended({ message }) {
      over.resolve(performance.timeOrigin + performance.now())
      ready.reject(new Error(message))
    },
  })
  await ready.promise
  target.tracks(media.tracks)
  void feed(target, media, over.promise)
  return {
    ended: over.promise,
    bytes: () => target.bytes.bytesOut,
    end() {
      target.end()
      over.resolve(performance.timeOrigin + performance.now())
    },
  }
}

/** Hands each frame out at its time. */
async function feed(target: SrtTarget, { frames }: Media, over: Promise<unknown>): Promise<void> {
  const state = { isOver: false }
  void over.then(() => (state.isOver = true))
  const startMs = performance.now()
  const firstUs = frames[0]?.decodeTimeUs ?? 0
  for (let round = 0; !state.isOver; round++) {
    for (const frame of frames) {
      const afterUs = round * ROUND_SECONDS * 1e6
      const waitMs = (frame.decodeTimeUs + afterUs - firstUs) / 1000 - (performance.now() - startMs)
      if (waitMs > 1) await systemClock.sleep(waitMs)
      target.frame({ ...frame, timeUs: frame.timeUs + afterUs, decodeTimeUs: frame.decodeTimeUs + afterUs })
    }
  }
}
