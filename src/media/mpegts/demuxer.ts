import { type TsPacket, TsPacketReader } from './packets.ts'
import { PesReader, type PesPacket } from './pes.ts'
import { readPat, readPmt, type TsStream } from './program.ts'
import { SectionReader } from './sections.ts'

/** Why something was left out. `damaged`: packets are missing, or their contents do not add up. */
export type TsProblem = 'damaged' | 'scrambled' | 'programs'

export interface TsHandler {
  /** Called with the streams of the program, and again when they change. Returns those to read. */
  choose(streams: readonly TsStream[]): readonly TsStream[]
  /** Of a chosen stream. */
  packet(stream: TsStream, packet: PesPacket): void
  /** Data of a stream is missing before its next packet. */
  lost(stream: TsStream): void
  problem(problem: TsProblem): void
}

interface PidReader {
  take(packet: TsPacket): void
  lose(): void
  end?(): void
  /** The latest packet with a payload; null: the counter starts with the next one. */
  latest: TsPacket | null
}

const PAT_PID = 0
/** Only packets of video may have no length (ISO/IEC 13818-1 section 2.4.3.7). With it and what is in front of it a packet has no more. */
const AUDIO_MAX_BYTES = 65_535 + 6

/** Reads the one program of an MPEG transport stream (ISO/IEC 13818-1). Nothing that comes makes it throw. */
export class TsDemuxer {
  readonly #handler: TsHandler
  readonly #maxBytes: number
  readonly #packets = new TsPacketReader()
  readonly #pids = new Map<number, PidReader>()
  #pmtPid: number | null = null
  #pmt = Buffer.alloc(0)
  #nowMs = 0

  /** @param maxBytes of one PES packet */
  constructor(handler: TsHandler, maxBytes: number) {
    this.#handler = handler
    this.#maxBytes = maxBytes
    this.#pids.set(
      PAT_PID,
      sections((section) => this.#takePat(section)),
    )
  }

  /** @param nowMs monotonic */
  push(data: Buffer, nowMs: number): void {
    this.#nowMs = nowMs
    for (const packet of this.#packets.push(data)) {
      const reader = this.#pids.get(packet.pid)
      if (reader !== undefined && packet.payload.length > 0) this.#take(reader, packet)
    }
  }

  /** The carrier has lost data: what is begun cannot be finished. */
  gap(): void {
    for (const reader of this.#pids.values()) {
      reader.latest = null
      reader.lose()
    }
  }

  /** Nothing more comes: what is complete leaves. */
  end(): void {
    for (const reader of this.#pids.values()) reader.end?.()
  }

  #take(reader: PidReader, packet: TsPacket): void {
    const { latest } = reader
    if (packet.isScrambled) return this.#handler.problem('scrambled')
    const steps = latest === null || packet.isDiscontinuity ? 1 : (packet.counter - latest.counter) & 0x0f
    // A packet may be sent twice (section 2.4.3.3).
    if (steps === 0 && latest?.payload.equals(packet.payload)) return
    reader.latest = packet
    if (steps !== 1) {
      reader.lose()
      this.#handler.problem('damaged')
    }
    reader.take(packet)
  }

  #takePat(section: Buffer): void {
    const pids = readPat(section)
    const [pid] = pids ?? []
    if (pids === null || pid === undefined) return
    if (pids.length > 1) this.#handler.problem('programs')
    if (pid === this.#pmtPid || pid === PAT_PID) return
    if (this.#pmtPid !== null) this.#pids.delete(this.#pmtPid)
    this.#pmtPid = pid
    this.#pids.set(
      pid,
      sections((pmt) => this.#takePmt(pmt)),
    )
  }

  #takePmt(section: Buffer): void {
    if (section.equals(this.#pmt)) return
    const streams = readPmt(section)
    if (streams === null) return
    this.#pmt = Buffer.from(section)
    for (const pid of this.#pids.keys()) if (pid !== PAT_PID && pid !== this.#pmtPid) this.#pids.delete(pid)
    for (const stream of this.#handler.choose(streams)) {
      if (!this.#pids.has(stream.pid)) this.#pids.set(stream.pid, this.#elementary(stream))
    }
  }

  #elementary(stream: TsStream): PidReader {
    const pes = new PesReader(stream.kind === 'audio' ? Math.min(this.#maxBytes, AUDIO_MAX_BYTES) : this.#maxBytes)
    return {
      latest: null,
      take: (packet) => {
        for (const complete of pes.push(packet, this.#nowMs)) {
          if (complete === null) this.#handler.problem('damaged')
          else this.#handler.packet(stream, complete)
        }
      },
      lose: () => {
        pes.lose()
        this.#handler.lost(stream)
      },
      end: () => {
        const last = pes.end()
        if (last !== null) this.#handler.packet(stream, last)
      },
    }
  }
}

function sections(take: (section: Buffer) => void): PidReader {
  const reader = new SectionReader()
  return {
    latest: null,
    take: (packet) => {
      for (const section of reader.push(packet)) take(section)
    },
    lose: () => reader.lose(),
  }
}
