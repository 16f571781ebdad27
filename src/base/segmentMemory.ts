import type { Splice } from './splice.ts'

/** Below this size, copying costs hardly more than the calls that avoid it. */
export const SPLICED_MIN_BYTES = 32 * 1024

/** Joins the parts of segments: in memory that the addon sends without copying it, once it is proved, else in Node's. */
export class SegmentMemory {
  #addon: Splice | null = null

  /** Null: Sluice copies what it sends. */
  get addon(): Splice | null {
    return this.#addon
  }

  /** @param addon it was proved */
  use(addon: Splice): void {
    this.#addon = addon
  }

  /** One Buffer with the bytes of all parts. Nothing may write to it. */
  join(parts: readonly Buffer[]): Buffer {
    const length = parts.reduce((sum, part) => sum + part.length, 0)
    if (this.#addon === null || length < SPLICED_MIN_BYTES) return Buffer.concat(parts)
    return this.#addon.join(parts) ?? Buffer.concat(parts)
  }
}
