import type {
  LayersAnswer,
  MediaEngine,
  MediaEngineEvent,
  Negotiated,
  Patched,
  PublishOffer,
  ViewOffer,
} from '../../src/media/engine.ts'

/** A media engine that forwards nothing and does what the test says: for tests of the protocol around it. */
export class ScriptedEngine implements MediaEngine {
  readonly asked: (({ kind: 'publish' } & PublishOffer) | ({ kind: 'view' } & ViewOffer))[] = []
  readonly feeds: Parameters<MediaEngine['feed']>[0][] = []
  readonly ended: string[] = []
  readonly aside: { sessionId: string; isAside: boolean }[] = []
  readonly patches: { sessionId: string; fragment: string; mayRestart: boolean }[] = []
  negotiated: () => Promise<Negotiated> = async () => ({ ok: true, answer: 'v=0\r\n', etag: 'first' })
  patched: () => Promise<Patched> = async () => ({ ok: true, answer: null, etag: 'first' })
  readonly choices: { sessionId: string; choice: string | null | undefined }[] = []
  layered: () => LayersAnswer = () => ({ ok: true, layers: [], chosen: null, sent: null })
  readonly #listeners = new Set<(event: MediaEngineEvent) => void>()

  readonly processes = 1
  /** Rooms that are there. */
  readonly rooms = new Set<string>()

  processFor(room: string): { readonly process: number; readonly hasRoom: boolean } {
    return { process: 0, hasRoom: this.rooms.has(room) }
  }

  /** Of its one process. */
  viewers = 0

  viewersOf(): number {
    return this.viewers
  }

  async start(): Promise<void> {}
  async stop(): Promise<void> {}

  async feed(request: Parameters<MediaEngine['feed']>[0]): Promise<void> {
    this.feeds.push(request)
  }

  publish(request: PublishOffer): Promise<Negotiated> {
    this.asked.push({ kind: 'publish', ...request })
    return this.negotiated()
  }

  view(request: ViewOffer): Promise<Negotiated> {
    this.asked.push({ kind: 'view', ...request })
    return this.negotiated()
  }

  patch(sessionId: string, fragment: string, mayRestart: boolean): Promise<Patched> {
    this.patches.push({ sessionId, fragment, mayRestart })
    return this.patched()
  }

  async layers(sessionId: string, choice?: string | null): Promise<LayersAnswer> {
    this.choices.push({ sessionId, choice })
    return this.layered()
  }

  async end(sessionId: string): Promise<void> {
    this.ended.push(sessionId)
    this.emit({ kind: 'ended', sessionId, reason: 'kicked' })
  }

  setAside(sessionId: string, isAside: boolean): void {
    this.aside.push({ sessionId, isAside })
  }

  tap() {
    return { subscribe: () => () => undefined }
  }

  watch(listener: (event: MediaEngineEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  emit(event: MediaEngineEvent): void {
    for (const listener of this.#listeners) listener(event)
  }
}
