import type { LateLooks } from '../../base/lateLooks.ts'
import type { Source } from './forward/source.ts'
import type { Viewer } from './outbound/viewer.ts'

/** How long viewers wait for another publisher after theirs has gone. */
const SOURCE_TIMEOUT_MS = 10_000

interface Subscription {
  readonly viewer: Pick<Viewer, 'show'>
  /** Null: the main source of the room. */
  readonly sourceId: string | null
  source: Source | null
  /** When the source went away; null while there is one. */
  withoutSourceSinceMs: number | null
  /** The viewer did not negotiate a codec of the source: only a new offer helps. */
  isIncompatible: boolean
}

/** The sources that are published under one name, and their viewers. */
export class Room {
  readonly #sources = new Map<string | null, Source>()
  readonly #subscriptions = new Map<string, Subscription>()

  get isEmpty(): boolean {
    return this.#sources.size === 0 && this.#subscriptions.size === 0
  }

  /** The source with this id. Null: the source without an id, else the first. */
  source(sourceId: string | null): Source | undefined {
    const [first] = this.#sources.values()
    return this.#sources.get(sourceId) ?? (sourceId === null ? first : undefined)
  }

  /** Adds a source. Returns the source of another session with the same id, which it replaces; viewers follow. */
  addSource(source: Source, nowMs: number): Source | undefined {
    const replaced = this.#sources.get(source.sourceId)
    this.#sources.set(source.sourceId, source)
    this.#refresh(nowMs)
    return replaced?.sessionId === source.sessionId ? undefined : replaced
  }

  /** Removes the source of a session, unless another session has replaced it. */
  removeSource(sessionId: string, nowMs: number): void {
    for (const [sourceId, source] of this.#sources) {
      if (source.sessionId === sessionId) this.#sources.delete(sourceId)
    }
    this.#refresh(nowMs)
  }

  join(sessionId: string, viewer: Pick<Viewer, 'show'>, sourceId: string | null, nowMs: number): void {
    const subscription = { viewer, sourceId, source: null, withoutSourceSinceMs: null, isIncompatible: false }
    this.#subscriptions.set(sessionId, subscription)
    this.#refresh(nowMs)
  }

  leave(sessionId: string): void {
    this.#subscriptions.delete(sessionId)
  }

  /** Whether a viewer is subscribed to the source of this session. */
  isWatched(sessionId: string): boolean {
    for (const { source } of this.#subscriptions.values()) if (source?.sessionId === sessionId) return true
    return false
  }

  /** The viewers' sessions to end: their source is gone for too long, or has codecs that they did not negotiate. */
  withoutSource(nowMs: number, looks: LateLooks): string[] {
    const isOver = (sinceMs: number | null): boolean =>
      sinceMs !== null && looks.lastedMs(sinceMs, nowMs) > SOURCE_TIMEOUT_MS
    return [...this.#subscriptions]
      .filter(([, { withoutSourceSinceMs, isIncompatible }]) => isIncompatible || isOver(withoutSourceSinceMs))
      .map(([sessionId]) => sessionId)
  }

  #refresh(nowMs: number): void {
    for (const subscription of this.#subscriptions.values()) {
      const source = this.source(subscription.sourceId) ?? null
      if (source === subscription.source && (source !== null) === (subscription.withoutSourceSinceMs === null)) continue
      subscription.source = source
      subscription.isIncompatible = !subscription.viewer.show(source, nowMs)
      subscription.withoutSourceSinceMs = source === null ? nowMs : null
    }
  }
}
