import type { FrameSink, FrameSource } from '../frame.ts'
import { Hub } from '../hub.ts'

/** Why a publisher is cut when another one connects with its stream key. */
export const REPLACED = 'Another publisher has come with the same stream key; the newest is taken'

/** Disconnects a publisher; `why` is for its operator. */
type Cut = (why: string) => Promise<void>
type Listener = (source: FrameSource) => void

/** The media that publishers push to this node, by ingest. Notifies listeners when a publisher connects. */
export class PushSources {
  readonly #connected = new Map<string, { hub: Hub; cut: Cut }>()
  readonly #listeners = new Map<string, Set<Listener>>()

  /** Takes the media of a publisher. Cuts an earlier one that pushes to the same ingest. */
  publish(ingestId: string, cut: Cut): FrameSink {
    void this.cut(ingestId, REPLACED)
    const hub = new Hub()
    const entry = { hub, cut }
    this.#connected.set(ingestId, entry)
    this.#listeners.get(ingestId)?.forEach((listener) => listener(hub))
    return {
      tracks: (tracks) => hub.tracks(tracks),
      frame: (frame) => hub.frame(frame),
      end: () => {
        if (this.#connected.get(ingestId) === entry) this.#connected.delete(ingestId)
        hub.end()
      },
    }
  }

  /** Cuts the publisher that pushes to an ingest, with a reason. */
  async cut(ingestId: string, why: string): Promise<void> {
    const entry = this.#connected.get(ingestId)
    if (entry === undefined) return
    this.#connected.delete(ingestId)
    entry.hub.end()
    await entry.cut(why)
  }

  /** Calls `listener` with each source of the ingest, at once with a connected one. Returns the function that unsubscribes. */
  watch(ingestId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(ingestId) ?? new Set()
    this.#listeners.set(ingestId, listeners.add(listener))
    const connected = this.#connected.get(ingestId)
    if (connected) listener(connected.hub)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(ingestId)
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#connected.keys()].map((id) => this.cut(id, 'The server is stopping; connect again')))
  }
}
