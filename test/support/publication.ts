import type { Frame, FrameSink, TrackInfo } from '../../src/media/frame.ts'
import type { Said } from '../../src/core/notices.ts'
import type { LinkTotals } from '../../src/media/measure/linkMeter.ts'
import type { PublishAnswer, PublishEnd } from '../../src/media/publishing.ts'

/** One publication, as the server saw it. */
export class Publication<Request> implements FrameSink {
  readonly request: Request
  readonly trackLists: (readonly TrackInfo[])[] = []
  readonly frames: Frame[] = []
  ends = 0
  bytesIn = 0
  link: LinkTotals | undefined
  readonly reasons: PublishEnd[] = []
  why: Said | undefined

  constructor(request: Request) {
    this.request = request
  }

  /** Why it ended; null: it goes on. */
  get reason(): PublishEnd | null {
    return this.reasons.at(-1) ?? null
  }

  tracks(tracks: readonly TrackInfo[]): void {
    this.trackLists.push(tracks)
  }

  frame(frame: Frame): void {
    this.frames.push(frame)
  }

  end(): void {
    this.ends += 1
  }

  answer(): Extract<PublishAnswer, { ok: true }> {
    return {
      ok: true,
      sink: this,
      bytes: (bytesIn, link) => {
        this.bytesIn = bytesIn
        this.link = link ?? this.link
      },
      ended: (reason, why) => {
        this.reasons.push(reason)
        this.why = why
      },
    }
  }
}
