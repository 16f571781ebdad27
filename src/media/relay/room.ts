import type { LateLooks } from '../../base/lateLooks.ts'
import type { Source } from './forward/source.ts'
import type { Viewer } from './outbound/viewer.ts'

/** How long viewers wait for another publisher after theirs has gone. */
const SOURCE_TIMEOUT_MS = 10_000

/** Priorities have 32 bits. */
const NO_PRIORITY = -1e10
const ASIDE = -1e11

interface Subscription {
  readonly viewer: Pick<Viewer, 'show' | 'takes'>
  /** Null: the main source of the room. */
  readonly sourceId: string | null
  source: Source | null
  /** When the source went away; null while there is one. */
  withoutSourceSinceMs: number | null
  /** The viewer did not negotiate a codec, or the audio or video, of the source: only a new offer helps. */
  isIncompatible: boolean
}

/** The sources that are published under one name, and their viewers. */
export class Room {
  /** Those of one id in the order in which they are shown: the first one is. */
  readonly #sources = new Map<string | null, readonly Source[]>()
  /** Sessions whose sources come last. */
  readonly #aside = new Set<string>()
  /** Other forms of sources, by the session of the source. */
  readonly #preferred = new Map<string, Source>()
  readonly #subscriptions = new Map<string, Subscription>()

  get isEmpty(): boolean {
    return this.#sources.size + this.#preferred.size + this.#subscriptions.size === 0
  }

  /** The source with this id. Null: the source without an id, else the first. */
  source(sourceId: string | null): Source | undefined {
    const [first] = this.#sources.values()
    return (this.#sources.get(sourceId) ?? (sourceId === null ? first : undefined))?.[0]
  }

  /**
   * The forms of that source, of which a viewer gets the first that it takes; none without a source. H.264 comes after another
   * codec: it is for viewers who lack that.
   */
  formsOf(sourceId: string | null): readonly Source[] {
    const source = this.source(sourceId)
    if (source === undefined) return []
    const other = this.#preferred.get(source.sessionId)
    if (other === undefined) return [source]
    return isH264(other) && !isH264(source) ? [source, other] : [other, source]
  }

  /**
   * Adds another form of the source of the session `of`; see `formsOf`. One without video is none: viewers get the source.
   */
  prefer(form: Source, of: string, nowMs: number): void {
    if (form.layers.length > 0) this.#preferred.set(of, form)
    else this.#preferred.delete(of)
    this.#refresh(nowMs)
  }

  /**
   * Adds a source. Returns the source of another session with the same id and priority, which it replaces; viewers follow. Those
   * of other priorities stay, and viewers get the best.
   */
  addSource(source: Source, nowMs: number): Source | undefined {
    const others = this.#othersOf(source.sourceId, source.sessionId)
    const replaced = others.find((other) => (other.priority ?? null) === (source.priority ?? null))
    this.#set(source.sourceId, [source, ...others.filter((other) => other !== replaced)])
    this.#refresh(nowMs)
    return replaced
  }

  /** Removes the source of a session, unless another session has replaced it. */
  removeSource(sessionId: string, nowMs: number): void {
    for (const sourceId of this.#sources.keys()) this.#set(sourceId, this.#othersOf(sourceId, sessionId))
    this.#aside.delete(sessionId)
    for (const [of, form] of this.#preferred) if ([of, form.sessionId].includes(sessionId)) this.#preferred.delete(of)
    this.#refresh(nowMs)
  }

  /** Whether every other source of its id is shown rather than that of this session. */
  setAside(sessionId: string, isAside: boolean, nowMs: number): void {
    if (isAside) this.#aside.add(sessionId)
    else this.#aside.delete(sessionId)
    for (const [sourceId, sources] of this.#sources) this.#set(sourceId, sources)
    this.#refresh(nowMs)
  }

  #othersOf(sourceId: string | null, sessionId: string): Source[] {
    return (this.#sources.get(sourceId) ?? []).filter((source) => source.sessionId !== sessionId)
  }

  /** The order of equal ones stays: the newest is the first. */
  #set(sourceId: string | null, sources: readonly Source[]): void {
    if (sources.length === 0) this.#sources.delete(sourceId)
    else
      this.#sources.set(
        sourceId,
        sources.toSorted((a, b) => this.#rankOf(b) - this.#rankOf(a)),
      )
  }

  #rankOf({ sessionId, priority = null }: Source): number {
    return this.#aside.has(sessionId) ? ASIDE : (priority ?? NO_PRIORITY)
  }

  join(sessionId: string, viewer: Pick<Viewer, 'show' | 'takes'>, sourceId: string | null, nowMs: number): void {
    const subscription = { viewer, sourceId, source: null, withoutSourceSinceMs: null, isIncompatible: false }
    this.#subscriptions.set(sessionId, subscription)
    this.#refresh(nowMs)
  }

  leave(sessionId: string): void {
    this.#subscriptions.delete(sessionId)
  }

  /** Every source and other form of one, the last shown first. `preferredTo`: the session whose source it is a form of. */
  forms(): { readonly source: Source; readonly preferredTo: string | null }[] {
    const sources = [...this.#sources.values()].flatMap((all) => all.toReversed())
    return [
      ...sources.map((source) => ({ source, preferredTo: null })),
      ...[...this.#preferred].map(([preferredTo, source]) => ({ source, preferredTo })),
    ]
  }

  /** Whether `setAside` says so of this session. */
  isAside(sessionId: string): boolean {
    return this.#aside.has(sessionId)
  }

  /** Whether a viewer is subscribed to the source of this session. */
  isWatched(sessionId: string): boolean {
    for (const { source } of this.#subscriptions.values()) if (source?.sessionId === sessionId) return true
    return false
  }

  /** The viewers' sessions to end: their source is gone for too long, or has what they did not negotiate. */
  withoutSource(nowMs: number, looks: Pick<LateLooks, 'lastedMs'>): string[] {
    const isOver = (sinceMs: number | null): boolean =>
      sinceMs !== null && looks.lastedMs(sinceMs, nowMs) > SOURCE_TIMEOUT_MS
    return [...this.#subscriptions]
      .filter(([, { withoutSourceSinceMs, isIncompatible }]) => isIncompatible || isOver(withoutSourceSinceMs))
      .map(([sessionId]) => sessionId)
  }

  #refresh(nowMs: number): void {
    for (const subscription of this.#subscriptions.values()) {
      const forms = this.formsOf(subscription.sourceId)
      const source = forms.find((form, at) => at === forms.length - 1 || subscription.viewer.takes(form)) ?? null
      if (source === subscription.source && (source !== null) === (subscription.withoutSourceSinceMs === null)) continue
      subscription.source = source
      subscription.isIncompatible = !subscription.viewer.show(source, nowMs)
      subscription.withoutSourceSinceMs = source === null ? nowMs : null
    }
  }
}

const isH264 = ({ layers }: Source): boolean => layers[0]?.track.shape.codec === 'h264'
