import type { FrameSink, FrameSource } from '../frame.ts'
import { Hub } from '../hub.ts'

/** Sends an encoder away; `why` is for the person who looks at it. */
type Cut = (why: string) => Promise<void>
type Listener = (source: FrameSource) => void

/** What encoders push to this node, by ingest: whoever waits for one is told when it comes. */
export class PushSources {
  readonly #live = new Map<string, { hub: Hub; cut: Cut }>()
  readonly #waiting = new Map<string, Set<Listener>>()

  /** Takes the media of an encoder. One that pushes to the same ingest already is cut: the newest wins. */
  publish(ingestId: string, cut: Cut): FrameSink {
    void this.cut(ingestId, 'Another encoder has come with the same stream key; the newest is taken')
    const hub = new Hub()
    const entry = { hub, cut }
    this.#live.set(ingestId, entry)
    this.#waiting.get(ingestId)?.forEach((listener) => listener(hub))
    return {
      tracks: (tracks) => hub.tracks(tracks),
      frame: (frame) => hub.frame(frame),
      end: () => {
        if (this.#live.get(ingestId) === entry) this.#live.delete(ingestId)
        hub.end()
      },
    }
  }

  /** Ends what is pushed to an ingest, and says why. */
  async cut(ingestId: string, why: string): Promise<void> {
    const entry = this.#live.get(ingestId)
    if (entry === undefined) return
    this.#live.delete(ingestId)
    entry.hub.end()
    await entry.cut(why)
  }

  /** Calls `listener` with each source of the ingest, at once with the present one. Returns the function that stops it. */
  watch(ingestId: string, listener: Listener): () => void {
    const listeners = this.#waiting.get(ingestId) ?? new Set()
    this.#waiting.set(ingestId, listeners.add(listener))
    const present = this.#live.get(ingestId)
    if (present) listener(present.hub)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#waiting.delete(ingestId)
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#live.keys()].map((id) => this.cut(id, 'The server is stopping; connect again')))
  }
}
