import type { RtpSender } from '../../../src/media/relay/transport/rtpSender.ts'
import { DownTrack } from '../../../src/media/relay/outbound/downTrack.ts'
import { RtpTrack } from '../../../src/media/relay/forward/rtpTrack.ts'
import type { RtpHead } from '../../../src/media/relay/srtp/writer.ts'

/** Records the packets that were sent to a viewer, in order. */
export class RecordingSender implements RtpSender {
  readonly sent: (RtpHead & { payload: string })[] = []

  sendRtp(head: RtpHead, payload: Buffer): void {
    this.sent.push({ ...head, payload: payload.toString('latin1') })
  }

  /** On this SSRC. */
  on(ssrc: number) {
    return this.sent.filter((one) => one.ssrc === ssrc)
  }
}

export const MEDIA = 7
export const REPAIR = 8

export function downTrackTo(transport: RtpSender, { rtx = true, firstIndex = 100 } = {}): DownTrack {
  const payloadTypes = new Map([['vp8', 96] as const])
  const repair = rtx ? { ssrc: REPAIR, payloadTypes: new Map([[96, 97]]) } : null
  return new DownTrack({ ssrc: MEDIA, kind: 'video', payloadTypes, rtx: repair, transport, firstIndex })
}

const TICKS_PER_MS = 90

/** A video source: each packet is a frame of its own, whose payload names the source. */
export class Camera {
  readonly track: RtpTrack
  readonly #name: string
  readonly #ssrc: number
  #index: number
  /** How many keyframes it was asked for; and how many of those requests it has answered, where a test counts that. */
  asked = 0
  answered = 0

  constructor(name: string, { ssrc = 1, firstIndex = 1000, canBeAsked = true } = {}) {
    this.#name = name
    this.#ssrc = ssrc
    this.#index = firstIndex
    const ask = canBeAsked ? () => void this.asked++ : null
    this.track = new RtpTrack({ kind: 'video', codec: 'vp8', rate: 90_000 }, ask)
  }

  /** The packet that comes `ahead` of the next one. */
  packet(nowMs: number, isKeyStart = false, ahead = 0, bytes = 0) {
    const index = this.#index + ahead
    const payload = Buffer.from(`${this.#name}${index}`.padEnd(bytes))
    return { ssrc: this.#ssrc, index, timestamp: (nowMs * TICKS_PER_MS) >>> 0, marker: true, payload, isKeyStart }
  }

  /** `bytes`: of the payload, at least. */
  send(nowMs: number, isKeyStart = false, bytes = 0): void {
    this.track.take(this.packet(nowMs, isKeyStart, 0, bytes), nowMs)
    this.#index += 1
  }

  /** A packet that never comes. */
  lose(): void {
    this.#index += 1
  }
}
