import { ok, type Result } from '../../base/result.ts'
import type { Said } from '../../core/notices.ts'
import { type Admitted, Publication } from '../publication.ts'
import { type IngestOptions, RtmpIngest, type Taken } from './ingest.ts'
import type { Message } from './messages.ts'

/** A publication in the messages of RTMP. */
export class RtmpPublication extends Publication {
  readonly #ingest: RtmpIngest

  constructor(admitted: Admitted, options: IngestOptions) {
    super(admitted)
    this.#ingest = new RtmpIngest(admitted.sink, options)
  }

  /** Takes a message with audio or video. Messages after the end are ignored. */
  take(message: Message): Result<Taken, Said> {
    return this.isOver ? ok('dropped') : this.#ingest.take(message)
  }

  /** Takes a message with data, which may describe the tracks that come next. */
  declare(message: Message): void {
    this.#ingest.declare(message)
  }
}
