import { err, ok, type Result } from '../../base/result.ts'
import type { Frame, TrackInfo } from '../frame.ts'
import { elementaryStream, type ElementaryStream } from './elementary.ts'
import { PACKET_BYTES } from './packets.ts'
import { crcOf } from './sections.ts'

const PMT_PID = 0x1000
const PIDS = { video: 0x100, audio: 0x101 } as const
const HEAD_BYTES = 4
const ROOM_BYTES = PACKET_BYTES - HEAD_BYTES
const PROGRAM = 1
/** A receiver that begins in the middle waits for the tables that long. */
const TABLES_EVERY_US = 500_000
/** The clock is due each 100 ms (ISO/IEC 13818-1 section 2.7.2). */
const CLOCK_EVERY_US = 80_000
/** How much the times are ahead of the clock: what audio and video may come apart. */
const AHEAD_TICKS = 0.2 * 90_000
const WRAP = 2 ** 33

const FLAG = { discontinuity: 0x80, randomAccess: 0x40, clock: 0x10 } as const

interface Stream extends ElementaryStream {
  readonly pid: number
  readonly kind: TrackInfo['kind']
}

/** What the adaptation field of the first packet of a frame says. */
interface Field {
  readonly flags: number
  /** Ticks of 90 kHz; null: none. */
  readonly clock: number | null
}

const NO_FIELD: Field = { flags: 0, clock: null }
const clockOf = (timeUs: number): number => Math.floor(timeUs * 0.09) % WRAP

/** Writes one program of an MPEG transport stream (ISO/IEC 13818-1). What a frame makes leaves with it. */
export class TsWriter {
  readonly #counters = new Map<number, number>()
  #streams: readonly Stream[] = []
  #clockPid = 0
  /** What the PMT says. */
  #program: Buffer = Buffer.alloc(0)
  #version = -1
  #tablesAtUs = Number.NEGATIVE_INFINITY
  #clockAtUs = Number.NEGATIVE_INFINITY

  /** Further frames are of these tracks. The refusal is a sentence for people: MPEG-TS does not carry one. */
  setTracks(tracks: readonly TrackInfo[]): Result<null, string> {
    const streams: Stream[] = []
    for (const track of tracks) {
      const stream = elementaryStream(track)
      if (!stream.ok) return err(stream.error)
      streams.push({ ...stream.value, kind: track.kind, pid: PIDS[track.kind] })
    }
    const clockPid = (streams.find(({ kind }) => kind === 'video') ?? streams[0])?.pid ?? 0
    const program = programOf(streams, clockPid)
    // Receivers begin again with another version. A new parameter set alone is no reason for that.
    if (!program.equals(this.#program)) this.#version = (this.#version + 1) & 31
    this.#program = program
    this.#streams = streams
    this.#clockPid = clockPid
    this.#tablesAtUs = Number.NEGATIVE_INFINITY
    return ok(null)
  }

  /** Whole packets; null: the frame is malformed, or of no track. */
  frame(frame: Frame): Buffer | null {
    const stream = this.#streams.find(({ kind }) => kind === frame.kind)
    const data = stream?.write(frame) ?? null
    if (stream === undefined || data === null) return null
    const field = this.#fieldOf(frame, stream)
    const packets = [this.#packets(stream.pid, pes(frame, stream, data), field)]
    const isClockDue = Math.abs(frame.decodeTimeUs - this.#clockAtUs) > CLOCK_EVERY_US
    if (field.clock === null && isClockDue) packets.unshift(this.#clock(frame.decodeTimeUs))
    if (this.#areTablesDue(frame)) packets.unshift(this.#tables(frame.decodeTimeUs))
    return packets.length === 1 ? (packets[0] ?? null) : Buffer.concat(packets)
  }

  #areTablesDue({ kind, key, decodeTimeUs }: Frame): boolean {
    return (kind === 'video' && key) || Math.abs(decodeTimeUs - this.#tablesAtUs) >= TABLES_EVERY_US
  }

  #fieldOf({ kind, key, isJump, decodeTimeUs }: Frame, { pid }: Stream): Field {
    const access = kind === 'video' && key ? FLAG.randomAccess : 0
    if (pid !== this.#clockPid) return { flags: access, clock: null }
    this.#clockAtUs = decodeTimeUs
    const jump = isJump === true ? FLAG.discontinuity : 0
    return { flags: access | jump | FLAG.clock, clock: clockOf(decodeTimeUs) }
  }

  /** A packet without a payload, which is not counted (section 2.4.3.3). */
  #clock(timeUs: number): Buffer {
    this.#clockAtUs = timeUs
    const packet = Buffer.alloc(PACKET_BYTES, 0xff)
    const counter = ((this.#counters.get(this.#clockPid) ?? 0) + 15) & 15
    packet.writeUInt32BE(headOf(this.#clockPid, { isStart: false, hasField: true, counter }) & ~0x10, 0)
    writeField(packet, 4, ROOM_BYTES, { flags: FLAG.clock, clock: clockOf(timeUs) })
    return packet
  }

  #tables(timeUs: number): Buffer {
    this.#tablesAtUs = timeUs
    const pat = section(0, this.#version, Buffer.from([0, PROGRAM, 0xe0 | (PMT_PID >> 8), PMT_PID & 255]))
    const pmt = section(2, this.#version, this.#program)
    return Buffer.concat([this.#packets(0, pat, NO_FIELD), this.#packets(PMT_PID, pmt, NO_FIELD)])
  }

  /** The payload in packets, of which the last one is filled up. */
  #packets(pid: number, payload: Buffer, first: Field): Buffer {
    const firstRoom = ROOM_BYTES - fieldBytes(first)
    const count = 1 + Math.max(0, Math.ceil((payload.length - firstRoom) / ROOM_BYTES))
    const out = Buffer.alloc(count * PACKET_BYTES, 0xff)
    let counter = this.#counters.get(pid) ?? 0
    for (let [at, from] = [0, 0]; at < out.length; at += PACKET_BYTES) {
      const field = at === 0 ? first : NO_FIELD
      const length = Math.min(payload.length - from, ROOM_BYTES - fieldBytes(field))
      const room = ROOM_BYTES - length
      out.writeUInt32BE(headOf(pid, { isStart: at === 0, hasField: room > 0, counter }), at)
      if (room > 0) writeField(out, at + HEAD_BYTES, room, field)
      payload.copy(out, at + HEAD_BYTES + room, from, from + length)
      from += length
      counter = (counter + 1) & 15
    }
    this.#counters.set(pid, counter)
    return out
  }
}

interface Head {
  readonly isStart: boolean
  readonly hasField: boolean
  readonly counter: number
}

/** With a payload. */
const headOf = (pid: number, { isStart, hasField, counter }: Head): number =>
  0x4700_0010 + (isStart ? 0x40_0000 : 0) + pid * 256 + (hasField ? 0x20 : 0) + counter

const fieldBytes = ({ flags, clock }: Field): number => (flags === 0 ? 0 : clock === null ? 2 : 8)

/** Fills `bytes` bytes, of which those of stuffing are there. */
function writeField(out: Buffer, at: number, bytes: number, { flags, clock }: Field): void {
  out[at] = bytes - 1
  if (bytes > 1) out[at + 1] = flags
  if (clock === null) return
  // 33 bits of 90 kHz, 6 reserved bits, and 9 bits of 27 MHz.
  out.writeUInt32BE(Math.floor(clock / 2), at + 2)
  out.writeUInt16BE((clock % 2) * 0x8000 + 0x7e00, at + 6)
}

/** Section 2.4.3.6. Its length is given where it fits: receivers then need not wait for the next one. */
function pes({ timeUs, decodeTimeUs }: Frame, { id }: Stream, data: Buffer): Buffer {
  const decode = clockOf(decodeTimeUs)
  const [presentationTicks, decodeTicks] = [clockOf(timeUs) + AHEAD_TICKS, decode + AHEAD_TICKS]
  const hasDecode = presentationTicks !== decodeTicks
  const head = Buffer.alloc(hasDecode ? 19 : 14)
  head.writeUInt32BE(0x100 + id, 0)
  const length = head.length - 6 + data.length
  head.writeUInt16BE(length > 0xffff ? 0 : length, 4)
  // Aligned: the frame begins with the packet.
  head.set([0x84, hasDecode ? 0xc0 : 0x80, head.length - 9], 6)
  writeTime(head, 9, hasDecode ? 3 : 2, presentationTicks % WRAP)
  if (hasDecode) writeTime(head, 14, 1, decodeTicks % WRAP)
  return Buffer.concat([head, data])
}

function writeTime(out: Buffer, at: number, mark: number, ticks: number): void {
  out[at] = (mark << 4) | (Math.floor(ticks / 2 ** 30) << 1) | 1
  out.writeUInt16BE((Math.floor(ticks / 2 ** 15) % 2 ** 15) * 2 + 1, at + 1)
  out.writeUInt16BE((ticks % 2 ** 15) * 2 + 1, at + 3)
}

/** With its pointer, which says that it begins at once. */
function section(table: number, version: number, body: Buffer): Buffer {
  const bytes = Buffer.alloc(9 + body.length + 4)
  bytes[1] = table
  bytes.writeUInt16BE(0xb000 + 5 + body.length + 4, 2)
  bytes.writeUInt16BE(PROGRAM, 4)
  bytes[6] = 0xc1 | (version << 1)
  body.copy(bytes, 9)
  bytes.writeUInt32BE(crcOf(bytes.subarray(1, -4)), bytes.length - 4)
  return bytes
}

function programOf(streams: readonly Stream[], clockPid: number): Buffer {
  const rows = streams.map(({ type, pid, descriptors }) => {
    const row = Buffer.from([type, 0xe0 | (pid >> 8), pid & 255, 0xf0, descriptors.length])
    return Buffer.concat([row, descriptors])
  })
  return Buffer.concat([Buffer.from([0xe0 | (clockPid >> 8), clockPid & 255, 0xf0, 0]), ...rows])
}
