import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { ownAddress } from './contender.ts'

/** Sockets of viewers that cost almost nothing to read: see sockets.c. */

interface Addon {
  open(address: number): number
  port(fd: number): number
  send(fd: number, datagram: Buffer, address: number, port: number): void
  receive(fds: Int32Array, counts: Uint32Array, frames: Uint32Array, arrivals: Float64Array): (number | Buffer)[]
  now(): number
  close(fd: number): void
}

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const ADDON = path('../../build/native/sockets.node')
/** Fewer wake-ups than packets, but short enough that no buffer overflows. */
const READ_MS = 4
/** First packets of frames: those of 2,000 viewers in 4 seconds. */
const MAX_ARRIVALS = 2000 * 30 * 4

/** When a viewer got the first packet of a frame. */
export interface Arrival {
  /** The index of its socket. */
  readonly index: number
  /** RTP time. */
  readonly timestamp: number
  readonly atMs: number
}

/** 32 bits of an IPv4 address. */
export const packed = (address: string): number => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)

/** The sockets of all viewers, read together. */
export class Sockets {
  readonly address = ownAddress()
  readonly #addon: Addon
  readonly #fds: Int32Array
  readonly #counts: Uint32Array
  /** Of each socket, the RTP time of its latest frame. */
  readonly #frames: Uint32Array
  readonly #arrivals = new Float64Array(1 + 3 * MAX_ARRIVALS)
  readonly #taking: ((datagram: Buffer) => void)[] = []
  readonly #timer: NodeJS.Timeout

  /** @param most viewers */
  constructor(most: number) {
    spawnSync(process.execPath, [path('../../scripts/native.mjs'), path('sockets.c'), ADDON], { stdio: 'ignore' })
    this.#addon = createRequire(import.meta.url)(ADDON) as Addon
    this.#fds = new Int32Array(most)
    this.#counts = new Uint32Array(most)
    this.#frames = new Uint32Array(most)
    this.#timer = setInterval(() => this.#read(), READ_MS)
  }

  /** A socket that passes its datagrams to `take`. Of its media only the first packet; it counts the others. */
  open(take: (datagram: Buffer) => void) {
    const index = this.#taking.push(take) - 1
    const fd = this.#addon.open(packed(this.address))
    this.#fds[index] = fd
    return {
      index,
      port: this.#addon.port(fd),
      send: (datagram: Buffer, to: { address: string; port: number }) =>
        this.#addon.send(fd, datagram, packed(to.address), to.port),
    }
  }

  /** Media packets received on all sockets. */
  get media(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0)
  }

  /** Milliseconds since 1970, by the clock of arrivals. */
  now(): number {
    return this.#addon.now()
  }

  /** Those since the last call, of all sockets. */
  takeArrivals(): Arrival[] {
    const filled = this.#arrivals[0] ?? 0
    this.#arrivals[0] = 0
    return Array.from({ length: filled / 3 }, (_, at) => {
      const [index = 0, timestamp = 0, atMs = 0] = this.#arrivals.subarray(1 + at * 3, 4 + at * 3)
      return { index, timestamp, atMs }
    })
  }

  close(): void {
    clearInterval(this.#timer)
    for (const fd of this.#fds.subarray(0, this.#taking.length)) this.#addon.close(fd)
  }

  #read(): void {
    const fds = this.#fds.subarray(0, this.#taking.length)
    const came = this.#addon.receive(fds, this.#counts, this.#frames, this.#arrivals)
    for (let at = 0; at < came.length; at += 2) {
      const [index, datagram] = [came[at], came[at + 1]]
      if (typeof index === 'number' && Buffer.isBuffer(datagram)) this.#taking[index]?.(datagram)
    }
  }
}
