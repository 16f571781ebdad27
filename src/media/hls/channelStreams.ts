import type { Clock } from '../../base/clock.ts'
import { SegmentMemory } from '../../base/segmentMemory.ts'
import type { ListedAudio } from './audioTracks.ts'
import { ChannelStream } from './channelStream.ts'
import { MemoryStore } from './store.ts'
import { StreamNumbers } from './streamNumbers.ts'

/** The live HLS of the engines of this node. */
export class ChannelStreams {
  readonly #clock: Clock
  readonly #numbers: StreamNumbers
  readonly #memory: SegmentMemory
  /** Each with what it has, as text. */
  readonly #streams = new Map<string, { readonly stream: ChannelStream; readonly shape: string }>()

  constructor(clock: Clock, numbers = new StreamNumbers(clock), memory = new SegmentMemory()) {
    this.#clock = clock
    this.#numbers = numbers
    this.#memory = memory
  }

  find(engineId: string): ChannelStream | undefined {
    return this.#streams.get(engineId)?.stream
  }

  /**
   * The stream of an engine that begins or goes on, with the number of renditions of its ladder.
   * @param copies whether the ladder says that one of them is copied
   * @param audio the audio tracks that viewers choose from
   */
  open(engineId: string, renditions: number, copies = false, audio: readonly ListedAudio[] = []): ChannelStream {
    const current = this.#streams.get(engineId)
    const shape = JSON.stringify({ renditions, copies, audio })
    if (current?.shape === shape) return current.stream
    current?.stream.stop()
    // A store of its own: a process that ends slowly may still write to the stream that this one replaces.
    const store = new MemoryStore(this.#memory)
    const [clock, numbers] = [this.#clock, this.#numbers]
    const stream = new ChannelStream({ engineId, clock, store, numbers, renditions, copies, audio })
    this.#streams.set(engineId, { stream, shape })
    return stream
  }

  /** The engine has stopped: viewers get nothing more. */
  close(engineId: string): void {
    this.#streams.get(engineId)?.stream.stop()
    this.#streams.delete(engineId)
  }
}
