import type { Clock } from '../../src/base/clock.ts'
import { type Message, MESSAGE, writeMessage } from '../../src/media/rtmp/messages.ts'
import { RtmpClient } from '../media/rtmp/client.ts'
import { PACKET, packetTypeOf } from '../media/rtmp/enhanced.ts'

/** Of a frame that follows the last one when a recording begins again. */
const FRAME_MS = 40
/** A publisher whose clock jumps by more than this does not pause for it. */
const JUMP_MS = 1000
/** Text of AMF0 that comes before the metadata of a publisher. */
const SET_DATA_FRAME = Buffer.from('\x02\x00\x0d@setDataFrame', 'latin1')

interface Loop {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly send: (tag: Message) => void
}

/** Sends a recording in a loop, by a clock. It leaves out the end of the recording. */
export async function sendInLoop(tags: readonly Message[], { clock, signal, send }: Loop): Promise<void> {
  const lengthMs = (tags.at(-1)?.timestamp ?? 0) + FRAME_MS
  // When a time of the recording is 0.
  let zeroMs = clock.monotonic()
  let latestMs = 0
  for (let round = 0; !signal.aborted; round += 1)
    for (const tag of tags.filter((one) => (round === 0 && !isEnd(one)) || isFrame(one))) {
      const timestamp = tag.timestamp + round * lengthMs
      if (timestamp - latestMs > JUMP_MS) zeroMs -= timestamp - latestMs
      latestMs = Math.max(latestMs, timestamp)
      const aheadMs = zeroMs + timestamp - clock.monotonic()
      if (aheadMs > 0) await clock.sleep(aheadMs, signal)
      send({ ...tag, timestamp })
    }
}

/** Sends a recording in a loop, by a clock, as a publisher does over RTMP. */
export class RtmpPublisher {
  /** The connection is over. */
  readonly ended: Promise<void>
  readonly #client: RtmpClient
  readonly #over = new AbortController()

  private constructor(client: RtmpClient, clock: Clock, tags: readonly Message[]) {
    this.#client = client
    this.ended = client.closed
    void client.closed.then(() => this.#over.abort())
    const send = (tag: Message): void => this.#send(tag)
    void sendInLoop(tags, { clock, signal: this.#over.signal, send }).catch(() => client.socket.destroy())
  }

  /** Resolves when the server has accepted it. @param url `rtmp://127.0.0.1:1935/app/name` */
  static async start(url: string, clock: Clock, tags: readonly Message[]): Promise<RtmpPublisher> {
    const { port, pathname, search } = new URL(url)
    const client = await RtmpClient.open(Number(port))
    const at = pathname.lastIndexOf('/')
    await client.publish(pathname.slice(1, at), pathname.slice(at + 1) + search)
    return new RtmpPublisher(client, clock, tags)
  }

  end(): void {
    this.#client.socket.destroy()
  }

  #send(tag: Message): void {
    const payload = tag.type === MESSAGE.data ? Buffer.concat([SET_DATA_FRAME, tag.payload]) : tag.payload
    this.#client.socket.write(writeMessage({ ...tag, streamId: 1, payload }, { chunkStreamId: tag.type }))
  }
}

/** A frame of H.264 or AAC has this second byte; the configuration of a track has 0, and the end of a recording 2. */
const isFrame = (tag: Message): boolean =>
  tag.type !== MESSAGE.data && (isEnhanced(tag.type, tag.payload) ? isEnhancedFrame(tag) : tag.payload[1] === 1)
const isEnd = ({ type, payload }: Message): boolean => type === MESSAGE.video && payload[1] === 2

const isEnhanced = (type: number, payload: Buffer): boolean =>
  type === MESSAGE.video ? payload.readUInt8(0) >= 0x80 : payload.readUInt8(0) >> 4 === 9
const isEnhancedFrame = (tag: Message): boolean =>
  [PACKET.frames, PACKET.framesX].some((type) => type === packetTypeOf(tag))
