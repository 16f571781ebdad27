import type { Source } from './forward/source.ts'
import type { Viewer } from './outbound/viewer.ts'

/** How long viewers wait for another publisher when theirs has gone. */
const PATIENCE_MS = 10_000

interface Seat {
  readonly viewer: Viewer
  /** Null: the main source of the room. */
  readonly sourceId: string | null
  shown: Source | null
  /** Since when there has been no source; null while there is. */
  emptySinceMs: number | null
  /** The source has nothing that the viewer agreed to take: only a new offer helps. */
  isStranded: boolean
}

/** What is published under one name, and who watches it. */
export class Room {
  readonly #sources = new Map<string | null, Source>()
  readonly #seats = new Map<string, Seat>()

  get isEmpty(): boolean {
    return this.#sources.size === 0 && this.#seats.size === 0
  }

  /** The source of this id; without one, the one without an id or else the first. */
  source(sourceId: string | null): Source | undefined {
    const [first] = this.#sources.values()
    return this.#sources.get(sourceId) ?? (sourceId === null ? first : undefined)
  }

  /** Puts a source in the place of another with the same id, which is returned. Viewers follow. */
  put(source: Source, nowMs: number): Source | undefined {
    const replaced = this.#sources.get(source.sourceId)
    this.#sources.set(source.sourceId, source)
    this.#refresh(nowMs)
    return replaced?.sessionId === source.sessionId ? undefined : replaced
  }

  /** Takes the source of a session out, unless another one has its place. */
  remove(sessionId: string, nowMs: number): void {
    for (const [sourceId, source] of this.#sources) {
      if (source.sessionId === sessionId) this.#sources.delete(sourceId)
    }
    this.#refresh(nowMs)
  }

  enter(sessionId: string, viewer: Viewer, sourceId: string | null, nowMs: number): void {
    this.#seats.set(sessionId, { viewer, sourceId, shown: null, emptySinceMs: null, isStranded: false })
    this.#refresh(nowMs)
  }

  leave(sessionId: string): void {
    this.#seats.delete(sessionId)
  }

  /** Whether anybody is shown the source of this session. */
  isWatched(sessionId: string): boolean {
    for (const { shown } of this.#seats.values()) if (shown?.sessionId === sessionId) return true
    return false
  }

  /** The sessions of viewers that wait in vain, or have waited for too long. */
  impatient(nowMs: number): string[] {
    const isOver = (sinceMs: number | null): boolean => sinceMs !== null && nowMs - sinceMs > PATIENCE_MS
    return [...this.#seats]
      .filter(([, { emptySinceMs, isStranded }]) => isStranded || isOver(emptySinceMs))
      .map(([sessionId]) => sessionId)
  }

  #refresh(nowMs: number): void {
    for (const seat of this.#seats.values()) {
      const source = this.source(seat.sourceId) ?? null
      if (source === seat.shown && (source !== null) === (seat.emptySinceMs === null)) continue
      seat.shown = source
      seat.isStranded = !seat.viewer.show(source, nowMs)
      seat.emptySinceMs = source !== null ? null : (seat.emptySinceMs ?? nowMs)
    }
  }
}
