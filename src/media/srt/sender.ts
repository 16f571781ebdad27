import type { SendRun } from './datagramRuns.ts'
import type { SendingKeys } from './keys.ts'
import {
  CONTROL,
  type ControlFields,
  type ControlPacket,
  HEAD_BYTES,
  KEY_REQUEST,
  KEY_RESPONSE,
  markResent,
  readAcknowledgement,
  readLosses,
  writeDataHead,
} from './packets.ts'
import { PACKET_BYTES } from '../mpegts/packets.ts'
import type { Range } from './receiver.ts'
import { sequenceAfter, stepsBetween } from './sequences.ts'

/** Of MPEG-TS in a datagram, as live senders do: it fits into one of each network. */
export const TS_PACKETS = 7
const BODY_BYTES = TS_PACKETS * PACKET_BYTES
const DATAGRAM_BYTES = HEAD_BYTES + BODY_BYTES

/** Media that waits for an acknowledgement is bounded by its time, or the latency where that is longer, and by its bytes. */
const SPAN_MAX_MS = 2000
const SPAN_IN_LATENCIES = 1.25
/** 32 Mbit/s for two seconds. */
const BYTES_MAX = 8_000_000
/** A receiver has given up what is older, at least so long after the latency (as libsrt counts it). */
const TOO_LATE_MS = 1000
/** Retransmissions have at most this share of the bytes of media, of which so many bytes are saved up. */
const RESENT_SHARE = 0.5
const CREDIT_MAX_BYTES = 1_000_000
/** Before the receiver tells it. */
const ROUND_TRIP_MS = 100
/** A packet is not sent again sooner, however short the round trip is. */
const RESEND_MIN_MS = 10
const PROBE_IN_ROUND_TRIPS = 2
const TELL_EVERY_MS = 1000
/**
 * Packets that reports of losses may name from one tick to the next: each of a full window, eight times. A drop request costs as
 * much as the second number. A report of 1,500 bytes could ask for 360 of them.
 */
const LOOKS_MAX = 50_000
const DROP_LOOKS = 50
/**
 * As libsrt does by default: a key is for 2^24 packets, and the next one is told 2^12 packets before. A receiver has two keys, an
 * even and an odd one (section 6.1.6), so the next one is told only when no packet of the key that it replaces can be sent again.
 */
const KEY_PACKETS = 2 ** 24
const KEY_AHEAD_PACKETS = 2 ** 12

export interface SrtSenderOptions {
  /** The number of the first packet. */
  readonly sequence: number
  /** Of the receiver. */
  readonly socketId: number
  /** How long the receiver waits for a lost packet. */
  readonly latencyMs: number
  /** The most packets that it takes in flight. */
  readonly windowPackets: number
  /** Null: it sends without encryption. */
  readonly keys: SendingKeys | null
  /** For tests; default `KEY_PACKETS`. */
  readonly packetsOfKey?: number
  /** @returns microseconds since the connection began */
  readonly timeUs: () => number
  readonly control: (fields: Omit<ControlFields, 'socketId' | 'timeUs'>) => void
  readonly data: SendRun
  /** See `LateLooks`. */
  readonly lastedMs: (sinceMs: number, nowMs: number) => number
}

interface Sent {
  readonly datagram: Buffer
  readonly sentAtMs: number
  resentAtMs: number
}

/**
 * The half of a connection that sends live media. What is sent waits for its acknowledgement, and is sent again when the
 * receiver reports it lost. The keys change before their time is over, once the receiver has confirmed the next one.
 */
export class SrtSender {
  /** Packets that were sent again. */
  resent = 0
  /** As the receiver measures it; null: it did not tell. */
  roundTripMs: number | null = null
  readonly #options: SrtSenderOptions
  readonly #waiting = new Map<number, Sent>()
  #bytes = 0
  #next: number
  #message = 1
  #sentAtMs = Number.NEGATIVE_INFINITY
  #credit = 0
  #ofKey = 0
  /** The number of the first packet of the key in use. */
  #keyBegan: number
  /** The message that tells the next key, until it is confirmed; null: none is told. */
  #keyMessage: Buffer | null = null
  #isNextKnown = false
  #toldAtMs = 0
  #looks = LOOKS_MAX

  constructor(options: SrtSenderOptions) {
    this.#options = options
    this.#next = options.sequence
    this.#keyBegan = options.sequence
  }

  /** What waits for an acknowledgement. */
  get waitingBytes(): number {
    return this.#bytes
  }

  /** Nothing more should be sent now: the receiver does not keep up, or is gone. After a pause of ours its answers still wait. */
  isFull(nowMs: number): boolean {
    const { latencyMs, windowPackets, lastedMs } = this.#options
    if (this.#bytes > BYTES_MAX || this.#waiting.size >= windowPackets) return true
    const [oldest] = this.#waiting.values()
    const spanMs = Math.max(SPAN_MAX_MS, latencyMs * SPAN_IN_LATENCIES)
    return oldest !== undefined && lastedMs(oldest.sentAtMs, nowMs) > spanMs
  }

  /** How long the receiver still has media to show, milliseconds. */
  unshownMs(nowMs: number): number {
    return Math.max(0, this.#sentAtMs + this.#options.latencyMs + this.#pauseMs - nowMs)
  }

  /**
   * Sends what one frame makes. It keeps the memory.
   * @param run of datagrams, each of `DATAGRAM_BYTES` but for the last. They begin with room for their heads
   */
  send(run: Buffer, nowMs: number): void {
    const { keys, data } = this.#options
    const [sequence, timeUs] = [this.#next, this.#options.timeUs()]
    this.#sentAtMs = nowMs
    for (let at = 0; at < run.length; at += DATAGRAM_BYTES) {
      this.#number(run.subarray(at, at + DATAGRAM_BYTES), timeUs, nowMs)
    }
    keys?.encrypt(run.subarray(HEAD_BYTES), sequence, { bodyBytes: BODY_BYTES, everyBytes: DATAGRAM_BYTES })
    this.#bytes += run.length
    this.#credit = Math.min(CREDIT_MAX_BYTES, this.#credit + run.length * RESENT_SHARE)
    data(run, DATAGRAM_BYTES)
    if (keys !== null) this.#turnKeys(keys, stepsBetween(sequence, this.#next))
  }

  #number(datagram: Buffer, timeUs: number, nowMs: number): void {
    const { keys, socketId } = this.#options
    const sequence = this.#next
    writeDataHead(datagram, { sequence, key: keys?.which ?? 0, socketId, message: this.#message, timeUs })
    this.#next = sequenceAfter(sequence)
    this.#message += 1
    this.#waiting.set(sequence, { datagram, sentAtMs: nowMs, resentAtMs: Number.NEGATIVE_INFINITY })
  }

  take({ type, subtype, info, body }: ControlPacket, nowMs: number): void {
    if (type === CONTROL.ack) this.#acknowledged(info, body)
    else if (type === CONTROL.nak) this.#lost(readLosses(body), nowMs)
    else if (type === CONTROL.userDefined && subtype === KEY_RESPONSE && this.#keyMessage?.equals(body)) {
      this.#keyMessage = null
      this.#isNextKnown = true
    }
  }

  /**
   * Sends the latest packet again if it was not acknowledged in time, because a receiver notices a loss by the packet after it.
   * Repeats a key message that was not confirmed. Call it each quarter of a second.
   */
  tick(nowMs: number): void {
    this.#looks = LOOKS_MAX
    const latest = sequenceAfter(this.#next, -1)
    const sent = this.#waiting.get(latest)
    if (sent !== undefined && nowMs - sent.sentAtMs > PROBE_IN_ROUND_TRIPS * this.#pauseMs) this.#resend(latest, nowMs)
    if (this.#keyMessage === null || nowMs - this.#toldAtMs < TELL_EVERY_MS) return
    this.#toldAtMs = nowMs
    this.#tellKeys(this.#keyMessage)
  }

  get #pauseMs(): number {
    return Math.max(RESEND_MIN_MS, this.roundTripMs ?? ROUND_TRIP_MS)
  }

  /** The packets of a frame are for one key. */
  #turnKeys(keys: SendingKeys, count: number): void {
    const packets = this.#options.packetsOfKey ?? KEY_PACKETS
    this.#ofKey += count
    const isDue = this.#ofKey >= packets - Math.min(KEY_AHEAD_PACKETS, packets / 2)
    if (isDue && this.#keyMessage === null && !this.#isNextKnown && !this.#mayResendOlderKey) {
      this.#keyMessage = keys.makeNext()
      this.#tellKeys(this.#keyMessage)
    }
    if (this.#ofKey < packets || !this.#isNextKnown) return
    keys.useNext()
    this.#isNextKnown = false
    this.#ofKey = 0
    this.#keyBegan = this.#next
  }

  get #mayResendOlderKey(): boolean {
    const [oldest] = this.#waiting.keys()
    return oldest !== undefined && stepsBetween(this.#keyBegan, oldest) < 0
  }

  #tellKeys(body: Buffer): void {
    this.#options.control({ type: CONTROL.userDefined, subtype: KEY_REQUEST, body })
  }

  #acknowledged(info: number, body: Buffer): void {
    const ack = readAcknowledgement(body)
    // One of packets that were never sent is none.
    if (ack === null || stepsBetween(this.#next, ack.sequence) > 0) return
    // A light one has no number, and wants no answer.
    if (ack.roundTripMs !== null) this.#options.control({ type: CONTROL.ackAck, info })
    this.roundTripMs = ack.roundTripMs ?? this.roundTripMs
    for (const [sequence, { datagram }] of this.#waiting) {
      if (stepsBetween(sequence, ack.sequence) <= 0) break
      this.#waiting.delete(sequence)
      this.#bytes -= datagram.length
    }
  }

  /** Looks at no more packets than can wait, whatever the ranges are, nor than may be until the next tick. */
  #lost(ranges: readonly Range[], nowMs: number): void {
    let looks = Math.min(this.#waiting.size, this.#looks)
    const [oldest = this.#next] = this.#waiting.keys()
    for (const [from, to] of ranges) {
      const first = stepsBetween(oldest, from) > 0 ? from : oldest
      const last = stepsBetween(this.#next, to) >= 0 ? sequenceAfter(this.#next, -1) : to
      let tooLate: number | null = null
      for (let at = first; looks > 0 && stepsBetween(at, last) >= 0; at = sequenceAfter(at)) {
        looks -= 1
        this.#looks -= 1
        if (!this.#resend(at, nowMs)) tooLate = at
      }
      if (tooLate === null || this.#looks < DROP_LOOKS) continue
      this.#looks -= DROP_LOOKS
      this.#drop([first, tooLate])
    }
  }

  /** False: the receiver waits for it no longer. */
  #resend(sequence: number, nowMs: number): boolean {
    const sent = this.#waiting.get(sequence)
    if (sent === undefined) return true
    if (nowMs - sent.sentAtMs > Math.max(TOO_LATE_MS, this.#options.latencyMs)) return false
    if (nowMs - sent.resentAtMs < this.#pauseMs || this.#credit < sent.datagram.length) return true
    this.#credit -= sent.datagram.length
    this.resent += 1
    sent.resentAtMs = nowMs
    markResent(sent.datagram)
    this.#options.data(sent.datagram, DATAGRAM_BYTES)
    return true
  }

  #drop([first, last]: Range): void {
    const body = Buffer.alloc(8)
    body.writeUInt32BE(first, 0)
    body.writeUInt32BE(last, 4)
    this.#options.control({ type: CONTROL.dropRequest, body })
  }
}
