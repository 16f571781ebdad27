import type { Clock } from '../../base/clock.ts'
import { ChannelStream } from './channelStream.ts'
import { MemoryStore } from './store.ts'

/** The live HLS of the engines of this node. */
export class ChannelStreams {
  readonly #clock: Clock
  readonly #streams = new Map<string, { readonly stream: ChannelStream; readonly renditions: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  find(engineId: string): ChannelStream | undefined {
    return this.#streams.get(engineId)?.stream
  }

  /** The stream of an engine that begins or goes on, with the number of renditions of its ladder. */
  open(engineId: string, renditions: number): ChannelStream {
    const current = this.#streams.get(engineId)
    if (current?.renditions === renditions) return current.stream
    current?.stream.stop()
    // A store of its own: a process that ends slowly may still write to the stream that this one replaces.
    const stream = new ChannelStream({ engineId, clock: this.#clock, store: new MemoryStore(), renditions })
    this.#streams.set(engineId, { stream, renditions })
    return stream
  }

  /** The engine has stopped: viewers get nothing more. */
  close(engineId: string): void {
    this.#streams.get(engineId)?.stream.stop()
    this.#streams.delete(engineId)
  }
}
