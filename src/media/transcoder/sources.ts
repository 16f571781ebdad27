import type { Logger } from '../../base/log.ts'
import type { Said } from '../../core/notices.ts'
import type { FrameSink, FrameSource } from '../frame.ts'
import { Hub } from '../hub.ts'

/** Why a publisher is cut when another one connects with its stream key. */
export const REPLACED = 'Another publisher has come with the same stream key; the newest is taken'

/** Disconnects a publisher; `why` is for its operator. */
type Cut = (why: string) => Promise<void>

/** What an engine hears of the publishers of its ingest. */
export interface PushListener {
  /** One connects. */
  readonly media: (source: FrameSource) => void
  /** One was cut for what it sent, or did not send. */
  readonly refused: (why: Said) => void
}

/** The media that publishers push to this node, by ingest. */
export class PushSources {
  readonly #log: Logger
  readonly #connected = new Map<string, { hub: Hub; cut: Cut }>()
  readonly #listeners = new Map<string, Set<PushListener>>()

  constructor(log: Logger) {
    this.#log = log
  }

  /** Takes the media of a publisher. Cuts an earlier one that pushes to the same ingest. */
  publish(ingestId: string, cut: Cut): FrameSink {
    void this.cut(ingestId, REPLACED)
    const hub = new Hub({ log: this.#log })
    const entry = { hub, cut }
    this.#connected.set(ingestId, entry)
    this.#listeners.get(ingestId)?.forEach(({ media }) => media(hub))
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

  /** The publisher of an ingest was cut. */
  refused(ingestId: string, why: Said): void {
    this.#listeners.get(ingestId)?.forEach(({ refused }) => refused(why))
  }

  /** Tells `listener` of each publisher of the ingest, at once of a connected one. Returns the function that unsubscribes. */
  watch(ingestId: string, listener: PushListener): () => void {
    const listeners = this.#listeners.get(ingestId) ?? new Set()
    this.#listeners.set(ingestId, listeners.add(listener))
    const connected = this.#connected.get(ingestId)
    if (connected) listener.media(connected.hub)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(ingestId)
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#connected.keys()].map((id) => this.cut(id, 'The server is stopping; connect again')))
  }
}
