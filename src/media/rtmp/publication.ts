import { ok, type Result } from '../../base/result.ts'
import { type IngestOptions, RtmpIngest, type Taken } from './ingest.ts'
import type { DeclaredBitrates } from './metadata.ts'
import type { Message } from './messages.ts'
import type { PublishAnswer, PublishEnd } from '../publishing.ts'

type Admitted = Extract<PublishAnswer, { ok: true }>

/** What an admitted publisher publishes. It reports bytes, and its end exactly once. */
export class Publication {
  readonly #admitted: Admitted
  readonly #ingest: RtmpIngest
  #bytesReported = 0
  #isOver = false

  constructor(admitted: Admitted, options: IngestOptions) {
    this.#admitted = admitted
    this.#ingest = new RtmpIngest(admitted.sink, options)
  }

  /** Takes a message with audio or video. Messages after the end are ignored. */
  take(message: Message): Result<Taken, string> {
    return this.#isOver ? ok('dropped') : this.#ingest.take(message)
  }

  /** For the tracks that it describes next. */
  declare(bitrates: DeclaredBitrates): void {
    this.#ingest.declare(bitrates)
  }

  /** @param total bytes that the connection has received so far */
  reportBytes(total: number): void {
    if (this.#isOver || total === this.#bytesReported) return
    this.#bytesReported = total
    this.#admitted.bytes(total)
  }

  end(reason: PublishEnd, totalBytes: number): void {
    if (this.#isOver) return
    this.reportBytes(totalBytes)
    this.#isOver = true
    this.#admitted.sink.end()
    this.#admitted.ended(reason)
  }
}
