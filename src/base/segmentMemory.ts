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
    return this.#inAddon(parts) ?? Buffer.concat(parts)
  }

  /** The same of a segment that is one Buffer already: that Buffer, where the addon does not take it. */
  keep(segment: Buffer): Buffer {
    return this.#inAddon([segment]) ?? segment
  }

  #inAddon(parts: readonly Buffer[]): Buffer | null {
    const length = parts.reduce((sum, part) => sum + part.length, 0)
    return this.#addon === null || length < SPLICED_MIN_BYTES ? null : this.#addon.join(parts)
  }
}
