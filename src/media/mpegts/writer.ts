import { err, ok, type Result } from '../../base/result.ts'
import type { CodedSentence } from '../../core/notices.ts'
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
/** A time that is further back is of another source. */
const BACK_MAX_US = 10_000_000
/**
 * How much the times are ahead of the clock: what audio and video may come apart. Encoders over SRT put up to 350 ms of audio into one
 * packet, which comes as much later than the video of its time.
 */
const AHEAD_TICKS = 0.5 * 90_000
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

/** Packets that leave as one datagram, which begins with room for its head. */
export interface TsGroups {
  readonly packets: number
  readonly headBytes: number
}

const NO_FIELD: Field = { flags: 0, clock: null }
const clockOf = (timeUs: number): number => Math.floor(timeUs * 0.09) % WRAP

/** Writes one program of an MPEG transport stream (ISO/IEC 13818-1). What a frame makes leaves with it. */
export class TsWriter {
  readonly #groups: TsGroups
  readonly #counters = new Map<number, number>()
  #streams: readonly Stream[] = []
  #clockPid = 0
  /** What the PMT says. */
  #program: Buffer = Buffer.alloc(0)
  #version = -1
  #tablesAtUs = Number.NEGATIVE_INFINITY
  #clockAtUs = Number.NEGATIVE_INFINITY

  constructor(groups: TsGroups = { packets: 1, headBytes: 0 }) {
    this.#groups = groups
  }

  /** Further frames are of these tracks. The refusal is a sentence for people: MPEG-TS does not carry one. */
  setTracks(tracks: readonly TrackInfo[]): Result<null, CodedSentence> {
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

  /** Whole packets, in their groups, of frames that leave together; null: each is malformed, or of no track. */
  frames(frames: readonly Frame[]): Buffer | null {
    const parts = frames.flatMap((frame) => this.#partsOf(frame))
    if (parts.length === 0) return null
    const run = new Run(
      parts.reduce((sum, part) => sum + packetsOf(part), 0),
      this.#groups,
    )
    for (const part of parts) {
      if ('clock' in part) this.#clock(run, part.clock)
      else this.#write(run, part)
    }
    return run.bytes
  }

  #partsOf(frame: Frame): Part[] {
    const stream = this.#streams.find(({ kind }) => kind === frame.kind)
    const data = stream?.write(frame) ?? null
    if (stream === undefined || data === null) return []
    const { decodeTimeUs } = frame
    const field = this.#fieldOf(frame, stream)
    const unit = { pid: stream.pid, payload: new Pieces([pesHead(frame, stream, bytesOf(data)), ...data]), field }
    const clock = field.clock === null ? this.#clockAt(decodeTimeUs, CLOCK_EVERY_US) : null
    const tables = this.#areTablesDue(frame) ? this.#tables(decodeTimeUs) : []
    return [...tables, ...(clock === null ? [] : [{ clock }]), unit]
  }

  /** Null: none is due. The clock never goes back within a source: receivers would take that for another one. */
  #clockAt(timeUs: number, everyUs: number): Field | null {
    const laterUs = timeUs - this.#clockAtUs
    const isOther = laterUs < -BACK_MAX_US
    if (laterUs <= everyUs && !isOther) return null
    this.#clockAtUs = timeUs
    return { flags: FLAG.clock | (isOther ? FLAG.discontinuity : 0), clock: clockOf(timeUs) }
  }

  #areTablesDue({ kind, key, decodeTimeUs }: Frame): boolean {
    return (kind === 'video' && key) || Math.abs(decodeTimeUs - this.#tablesAtUs) >= TABLES_EVERY_US
  }

  #fieldOf({ kind, key, isJump, decodeTimeUs }: Frame, { pid }: Stream): Field {
    const access = kind === 'video' && key ? FLAG.randomAccess : 0
    const field = pid === this.#clockPid ? this.#clockAt(decodeTimeUs, 0) : null
    if (field === null) return { flags: access, clock: null }
    const jump = isJump === true ? FLAG.discontinuity : 0
    return { flags: access | jump | field.flags, clock: field.clock }
  }

  /** A packet without a payload, which is not counted (section 2.4.3.3). */
  #clock(run: Run, field: Field): void {
    const at = run.next()
    const counter = ((this.#counters.get(this.#clockPid) ?? 0) + 15) & 15
    run.bytes.writeUInt32BE(headOf(this.#clockPid, { isStart: false, hasField: true, counter }) & ~0x10, at)
    writeField(run.bytes, at + HEAD_BYTES, ROOM_BYTES, field)
  }

  #tables(timeUs: number): Unit[] {
    this.#tablesAtUs = timeUs
    const pat = section(0, this.#version, Buffer.from([0, PROGRAM, 0xe0 | (PMT_PID >> 8), PMT_PID & 255]))
    const pmt = section(2, this.#version, this.#program)
    return [
      { pid: 0, payload: new Pieces([pat]), field: NO_FIELD },
      { pid: PMT_PID, payload: new Pieces([pmt]), field: NO_FIELD },
    ]
  }

  /** The payload in packets, of which the last one is filled up. */
  #write(run: Run, unit: Unit): void {
    const { pid, payload } = unit
    let counter = this.#counters.get(pid) ?? 0
    for (let [index, count] = [0, packetsOf(unit)]; index < count; index++) {
      const field = index === 0 ? unit.field : NO_FIELD
      const length = Math.min(payload.bytes, ROOM_BYTES - fieldBytes(field))
      const [at, room] = [run.next(), ROOM_BYTES - length]
      run.bytes.writeUInt32BE(headOf(pid, { isStart: index === 0, hasField: room > 0, counter }), at)
      if (room > 0) writeField(run.bytes, at + HEAD_BYTES, room, field)
      payload.copy(run.bytes, at + HEAD_BYTES + room, length)
      counter = (counter + 1) & 15
    }
    this.#counters.set(pid, counter)
  }
}

/** What packets of one PID carry together: a section or a PES packet. */
interface Unit {
  readonly pid: number
  readonly payload: Pieces
  /** Of the first packet. */
  readonly field: Field
}

/** `clock`: a packet with the clock alone. */
type Part = Unit | { readonly clock: Field }

function packetsOf(part: Part): number {
  if ('clock' in part) return 1
  return 1 + Math.max(0, Math.ceil((part.payload.bytes - ROOM_BYTES + fieldBytes(part.field)) / ROOM_BYTES))
}

/** Memory for so many packets, in groups with room in front of each. */
class Run {
  readonly bytes: Buffer
  readonly #groups: TsGroups
  #count = 0

  constructor(count: number, groups: TsGroups) {
    this.#groups = groups
    this.bytes = Buffer.alloc(count * PACKET_BYTES + Math.ceil(count / groups.packets) * groups.headBytes, 0xff)
  }

  /** Where the next packet begins. */
  next(): number {
    const { packets, headBytes } = this.#groups
    const index = this.#count++
    return index * PACKET_BYTES + (1 + Math.floor(index / packets)) * headBytes
  }
}

const bytesOf = (pieces: readonly Uint8Array[]): number => pieces.reduce((sum, { length }) => sum + length, 0)

/** Bytes that lie in pieces, read from front to back: a frame is copied once, into its packets. */
class Pieces {
  /** What is left. */
  bytes: number
  readonly #pieces: readonly Uint8Array[]
  #index = 0
  #at = 0

  constructor(pieces: readonly Uint8Array[]) {
    this.#pieces = pieces
    this.bytes = bytesOf(pieces)
  }

  /** @param count that is left at least */
  copy(to: Buffer, at: number, count: number): void {
    this.bytes -= count
    for (let left = count; left > 0; ) {
      const piece = this.#pieces[this.#index] ?? NONE
      const part = piece.subarray(this.#at, this.#at + left)
      to.set(part, at + count - left)
      left -= part.length
      this.#at += part.length
      if (this.#at < piece.length) continue
      this.#index += 1
      this.#at = 0
    }
  }
}

const NONE = new Uint8Array()

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
function pesHead({ timeUs, decodeTimeUs }: Frame, { id }: Stream, dataBytes: number): Buffer {
  const decode = clockOf(decodeTimeUs)
  const [presentationTicks, decodeTicks] = [clockOf(timeUs) + AHEAD_TICKS, decode + AHEAD_TICKS]
  const hasDecode = presentationTicks !== decodeTicks
  const head = Buffer.alloc(hasDecode ? 19 : 14)
  head.writeUInt32BE(0x100 + id, 0)
  const length = head.length - 6 + dataBytes
  head.writeUInt16BE(length > 0xffff ? 0 : length, 4)
  // Aligned: the frame begins with the packet.
  head.set([0x84, hasDecode ? 0xc0 : 0x80, head.length - 9], 6)
  writeTime(head, 9, hasDecode ? 3 : 2, presentationTicks % WRAP)
  if (hasDecode) writeTime(head, 14, 1, decodeTicks % WRAP)
  return head
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
