import type { Clock } from '../../base/clock.ts'
import { LateLooks } from '../../base/lateLooks.ts'
import type { LinkTotals } from '../measure/linkMeter.ts'
import type { StreamKeys } from './keys.ts'
import {
  CONTROL,
  type ControlFields,
  type ControlPacket,
  type DataPacket,
  HEAD_BYTES,
  KEY_REQUEST,
  KEY_RESPONSE,
  writeAcknowledgement,
  writeLosses,
} from './packets.ts'
import { type Range, SrtReceiver } from './receiver.ts'
import { RoundTrip } from './roundTrip.ts'

/** As often as live senders expect acknowledgements (draft-sharabayko-srt-01 section 4.8.1). */
export const RECEIVING_TICK_MS = 10
/** What came again during a longer pause of this process waits in the socket. */
const LATE_MS = 50
const SECOND_MS = 1000
/** A new key costs some computing; senders change it after minutes. */
const KEY_EVERY_MS = 1000

export interface ReceivingOptions {
  /** The first packet of the sender. */
  readonly sequence: number
  /** How long a missing packet is waited for. */
  readonly latencyMs: number
  /** Null: it sends without encryption. */
  readonly keys: StreamKeys | null
  readonly clock: Clock
  readonly control: (fields: Omit<ControlFields, 'socketId' | 'timeUs'>) => void
  /** In order. */
  readonly deliver: (body: Buffer) => void
  /** Packets before the next one that is delivered will not come. */
  readonly gap: () => void
  /** Something cannot be taken; a sentence for the operator, one of a few. */
  readonly leftOut: (description: string) => void
}

/**
 * The half of a connection that receives live media, whichever side has called: decrypts, puts in order, reports losses, and
 * acknowledges. Call `tick` every `RECEIVING_TICK_MS`.
 */
export class SrtReceiving {
  readonly #options: ReceivingOptions
  readonly #receiver: SrtReceiver
  readonly #roundTrip: RoundTrip
  readonly #looks: LateLooks
  #refreshedAtMs = Number.NEGATIVE_INFINITY
  #isOver = false
  #bytes = 0
  #packets = 0
  #second = { fromMs: 0, bytes: 0, packets: 0, bytesPerSecond: 0, packetsPerSecond: 0 }
  #acknowledged: number

  constructor(options: ReceivingOptions) {
    const { sequence, latencyMs, clock, deliver, gap, leftOut } = options
    this.#options = options
    this.#roundTrip = new RoundTrip(clock)
    this.#looks = new LateLooks(RECEIVING_TICK_MS, clock.monotonic(), LATE_MS)
    this.#acknowledged = sequence
    this.#receiver = new SrtReceiver({
      sequence,
      latencyMs,
      deliver: (body) => {
        if (!this.#isOver) deliver(body)
      },
      gap: () => {
        leftOut('Packets were lost and did not come again within the latency; a longer one may help')
        gap()
      },
    })
  }

  get link(): LinkTotals {
    const { lost, dropped, duplicates } = this.#receiver
    const packets = Math.max(0, this.#packets - duplicates) + dropped
    return { packets, lost, givenUp: dropped, roundTripMs: this.#roundTrip.meanUs / 1000 }
  }

  take(packet: DataPacket | ControlPacket, nowMs: number): void {
    if (packet.kind === 'data') this.#data(packet, nowMs)
    else this.#control(packet, nowMs)
  }

  /** True once a second: its figures are measured. */
  tick(nowMs: number): boolean {
    const isMeasured = nowMs - this.#second.fromMs >= SECOND_MS
    if (isMeasured) this.#measure(nowMs)
    this.#report(this.#receiver.tick(nowMs, this.#roundTrip.reportEveryMs, this.#looks.look(nowMs)))
    this.#acknowledge()
    return isMeasured
  }

  /** The sender has said goodbye: delivers what has come. */
  finish(): void {
    this.#receiver.finish()
  }

  /** Delivers nothing any more. */
  end(): void {
    this.#isOver = true
  }

  #data({ sequence, key, body }: DataPacket, nowMs: number): void {
    this.#packets += 1
    this.#bytes += HEAD_BYTES + body.length
    if (!this.#decrypt(body, key, sequence)) {
      return this.#options.leftOut('Packets are not encrypted with the keys of the connection')
    }
    const lost = this.#receiver.take(sequence, body, nowMs)
    if (lost !== null) this.#report([lost])
  }

  #decrypt(body: Buffer, key: number, sequence: number): boolean {
    const { keys } = this.#options
    return keys === null ? key === 0 : keys.decrypt(body, key, sequence)
  }

  /** The rest is for senders, or for the connection. */
  #control({ type, subtype, info, body }: ControlPacket, nowMs: number): void {
    if (type === CONTROL.ackAck) this.#roundTrip.end(info)
    else if (type === CONTROL.dropRequest) this.#dropped(body)
    else if (type === CONTROL.userDefined && subtype === KEY_REQUEST) void this.#refreshKeys(body, nowMs)
  }

  #dropped(body: Buffer): void {
    if (body.length >= 8) this.#receiver.drop([body.readUInt32BE(0) & 0x7fff_ffff, body.readUInt32BE(4) & 0x7fff_ffff])
  }

  /** A sender repeats its message until it is confirmed. */
  async #refreshKeys(message: Buffer, nowMs: number): Promise<void> {
    const { keys, leftOut, control } = this.#options
    if (keys === null || nowMs - this.#refreshedAtMs < KEY_EVERY_MS) return
    this.#refreshedAtMs = nowMs
    if (!(await keys.refresh(message))) return leftOut('A new key is not for the passphrase of the connection')
    if (!this.#isOver) control({ type: CONTROL.userDefined, subtype: KEY_RESPONSE, body: message })
  }

  #report(lost: readonly Range[]): void {
    if (lost.length > 0) this.#options.control({ type: CONTROL.nak, body: writeLosses(lost) })
  }

  #acknowledge(): void {
    const { next, freePackets } = this.#receiver
    if (next === this.#acknowledged) return
    this.#acknowledged = next
    const { bytesPerSecond, packetsPerSecond } = this.#second
    const body = writeAcknowledgement({
      sequence: next,
      roundTripUs: this.#roundTrip.meanUs,
      roundTripVarianceUs: this.#roundTrip.varianceUs,
      freePackets,
      packetsPerSecond,
      bytesPerSecond,
    })
    this.#options.control({ type: CONTROL.ack, info: this.#roundTrip.begin(), body })
  }

  /** An acknowledgement that was lost is repeated after it. */
  #measure(nowMs: number): void {
    const { fromMs, bytes, packets } = this.#second
    const seconds = (nowMs - fromMs) / SECOND_MS
    this.#second = {
      fromMs: nowMs,
      bytes: this.#bytes,
      packets: this.#packets,
      bytesPerSecond: (this.#bytes - bytes) / seconds,
      packetsPerSecond: (this.#packets - packets) / seconds,
    }
    this.#acknowledged = -1
  }
}
