import { SegmentMemory } from '../../base/segmentMemory.ts'
import type { PieceKey, SegmentFact, SegmentStore } from '../../core/hls/facts.ts'
import { initName, partName, segmentName } from '../../core/hls/numbers.ts'

interface Shelf {
  readonly pieces: Map<string, Buffer>
  /** Facts of the closed segments, the oldest first. */
  readonly segments: SegmentFact[]
}

/** Keeps pieces in memory. Its owner bounds them with `forget`. */
export class MemoryStore implements SegmentStore {
  /** By stream, then by rendition. */
  readonly #shelves = new Map<string, Map<string, Shelf>>()
  readonly #memory: SegmentMemory

  constructor(memory = new SegmentMemory()) {
    this.#memory = memory
  }

  put(key: PieceKey, bytes: Buffer): void {
    this.#shelfOf(key).pieces.set(key.name, bytes)
  }

  close(key: PieceKey, parts: readonly Buffer[], fact: SegmentFact): void {
    const { pieces, segments } = this.#shelfOf(key)
    const bytes = this.#memory.join(parts)
    pieces.set(key.name, bytes)
    segments.push(fact)
    // No byte stays in memory twice.
    let at = 0
    for (const part of fact.parts) pieces.set(partName(part.n), bytes.subarray(at, (at += part.bytes)))
  }

  peek({ stream, rendition, name }: PieceKey): Buffer | undefined {
    return this.#shelves.get(stream)?.get(rendition)?.pieces.get(name)
  }

  async read(key: PieceKey): Promise<Buffer | null> {
    return this.peek(key) ?? null
  }

  async forget(stream: string, rendition: string, beforeSegment: number): Promise<void> {
    const shelves = this.#shelves.get(stream)
    if (beforeSegment === Number.POSITIVE_INFINITY) shelves?.delete(rendition)
    if (shelves?.size === 0) this.#shelves.delete(stream)
    const shelf = shelves?.get(rendition)
    if (shelf === undefined) return
    const kept = shelf.segments.findIndex(({ n }) => n >= beforeSegment)
    const gone = shelf.segments.splice(0, kept === -1 ? shelf.segments.length : kept)
    for (const { n, parts } of gone) {
      shelf.pieces.delete(segmentName(n))
      for (const part of parts) shelf.pieces.delete(partName(part.n))
    }
    const used = new Set(shelf.segments.map(({ init }) => initName(init)))
    for (const { init } of gone) if (!used.has(initName(init))) shelf.pieces.delete(initName(init))
  }

  #shelfOf({ stream, rendition }: PieceKey): Shelf {
    const shelves = this.#shelves.get(stream) ?? new Map<string, Shelf>()
    const shelf = shelves.get(rendition) ?? { pieces: new Map(), segments: [] }
    this.#shelves.set(stream, shelves.set(rendition, shelf))
    return shelf
  }
}
