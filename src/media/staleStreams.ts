import { streamIdOf, type StreamRef } from '../core/streams/streamId.ts'

/** More changed streams than this at once are read with all others. */
export const STREAMS_AT_ONCE = 100

/** The streams whose feeds have changed at some node since they were read; at first all. */
export class StaleStreams {
  /** By account and name; null: all streams. */
  #streams: Map<string, StreamRef> | null = null
  #reads = 0

  /** How many reads of them have begun. */
  get reads(): number {
    return this.#reads
  }

  add({ accountId, streamName }: StreamRef): void {
    this.#streams?.set(streamIdOf({ accountId, streamName }), { accountId, streamName })
    if (this.#streams !== null && this.#streams.size > STREAMS_AT_ONCE) this.#streams = null
  }

  addAll(): void {
    this.#streams = null
  }

  /** Empties it. Null: all streams. */
  take(): StreamRef[] | null {
    const streams = this.#streams
    if (streams?.size !== 0) this.#reads += 1
    this.#streams = new Map()
    return streams && [...streams.values()]
  }
}
