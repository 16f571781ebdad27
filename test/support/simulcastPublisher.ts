import { PeerConnection, type Track, Video } from 'node-datachannel'
import type { MediaEngine } from '../../src/media/engine.ts'
import { parseRtcp } from '../../src/media/relay/wire/rtcp/rtcp.ts'
import { isRtcp } from '../../src/media/relay/wire/rtp.ts'
import { writeRtp } from './rtpPackets.ts'
import { until } from './until.ts'

const [PAYLOAD_TYPE, RID_EXTENSION, FRAME_MS] = [96, 10, 40]

interface Layer {
  readonly rid: string
  readonly ssrc: number
  /** Bytes of a frame. */
  readonly bytes: number
  /** Pixels. */
  readonly width: number
  readonly height: number
  isKeyNext: boolean
}

/** A publisher of VP8 in three layers, `h`, `m` and `l`, whose frames are one packet each. */
export class SimulcastPublisher {
  readonly #peer = new PeerConnection('simulcast', { iceServers: [], disableAutoNegotiation: true })
  readonly #track: Track
  readonly #layers: readonly Layer[] = [
    { rid: 'h', ssrc: 11, bytes: 900, width: 640, height: 480, isKeyNext: true },
    { rid: 'm', ssrc: 12, bytes: 400, width: 320, height: 240, isKeyNext: true },
    { rid: 'l', ssrc: 13, bytes: 150, width: 160, height: 120, isKeyNext: true },
  ]
  #timer: NodeJS.Timeout | undefined
  #sent = 0
  /** By layer: how many keyframes it was asked for. */
  readonly asked = new Map<string, number>()

  private constructor() {
    const media = new Video('0', 'SendOnly')
    media.addVP8Codec(PAYLOAD_TYPE)
    this.#track = this.#peer.addTrack(media)
    this.#track.onMessage((message) => this.#hear(message))
  }

  /** On the air. Throws on a refusal. */
  static async publish(
    engine: Pick<MediaEngine, 'publish'>,
    sessionId: string,
    room: string,
  ): Promise<SimulcastPublisher> {
    const publisher = new SimulcastPublisher()
    const peer = publisher.#peer
    peer.setLocalDescription('offer')
    await until(() => peer.gatheringState() === 'complete')
    const offer = (peer.localDescription()?.sdp ?? '') + publisher.#simulcast()
    const answer = await engine.publish({ sessionId, room, sourceId: null, offer, codec: null })
    if (!answer.ok) throw new Error(answer.problem)
    peer.setRemoteDescription(answer.answer, 'answer')
    await until(() => publisher.#track.isOpen())
    publisher.#timer = setInterval(() => publisher.#send(), FRAME_MS)
    return publisher
  }

  /** Which layer a payload is of. */
  layerOf(payload: Buffer | undefined): string | undefined {
    return this.#layers.find(({ bytes }) => bytes === payload?.length)?.rid
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#peer.close()
  }

  /** The attributes of its m-line. The library sends what it is given, and need not know. */
  #simulcast(): string {
    const rids = this.#layers.map(({ rid }) => rid)
    const attributes = [
      `extmap:${RID_EXTENSION} urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id`,
      ...rids.map((rid) => `rid:${rid} send`),
      `simulcast:send ${rids.join(';')}`,
    ]
    return attributes.map((attribute) => `a=${attribute}\r\n`).join('')
  }

  #send(): void {
    this.#sent += 1
    for (const layer of this.#layers) {
      const { rid, ssrc, bytes, width, height, isKeyNext } = layer
      layer.isKeyNext = false
      const payload = Buffer.alloc(bytes)
      // The payload descriptor of RFC 7741 with the start of a partition, and the frame header of RFC 6386 section 9.1.
      payload.set([0x10, isKeyNext ? 0x10 : 0x11, 0, 0, 0x9d, 0x01, 0x2a])
      payload.writeUInt16LE(width, 7)
      payload.writeUInt16LE(height, 9)
      const fields = { marker: true, payloadType: PAYLOAD_TYPE, sequence: this.#sent & 0xffff, ssrc }
      const extensions = [{ id: RID_EXTENSION, value: Buffer.from(rid) }]
      const timestamp = this.#sent * FRAME_MS * 90
      this.#track.sendMessageBinary(writeRtp({ ...fields, timestamp }, payload, extensions))
    }
  }

  #hear(message: Buffer): void {
    for (const packet of (isRtcp(message) && parseRtcp(message)) || []) {
      const layer = packet.kind === 'pli' ? this.#layers.find(({ ssrc }) => ssrc === packet.mediaSsrc) : undefined
      if (layer === undefined) continue
      layer.isKeyNext = true
      this.asked.set(layer.rid, (this.asked.get(layer.rid) ?? 0) + 1)
    }
  }
}
