import type { Logger } from '../base/log.ts'
import type { Result } from '../base/result.ts'
import { walled } from '../base/walls.ts'
import type { Said } from '../core/notices.ts'
import type { AttemptEvent } from '../core/restream/driver.ts'
import { type FrameSink, takesAs } from './frame.ts'
import type { LinkTotals } from './measure/linkMeter.ts'
import type { PublishEnd } from './publishing.ts'
import { type DialledSource, type PulledSource, type PullProblem, SLUICE_FAILED } from './pulling.ts'

/** What takes the media of one connection to a source. */
export interface SourceReceiver {
  readonly sink: Omit<FrameSink, 'end'>
  /** Called every second. @param bytes received so far */
  received(bytes: number, link: LinkTotals | undefined): void
  /** Called once, and nothing after it. @param bytes received in all */
  ended(why: PublishEnd, bytes: number): void
}

export interface SourceAttemptOptions {
  readonly log: Logger
  /** For the log. */
  readonly name: string
  readonly accountId: string
  /** The error has no secrets. */
  readonly dial: (signal: AbortSignal) => Promise<Result<DialledSource, Said>>
  /** Whether the media of a source at this address is taken, and by what. */
  readonly admit: (peer: string) => Promise<Result<SourceReceiver, PullProblem>>
  /** See `TsIngestOptions`. */
  readonly audioNumbers?: readonly (number | null)[]
  /** Something is left out or mended; a sentence for the operator, one of a few. */
  readonly leftOut: (what: string) => void
  readonly report: (event: AttemptEvent) => void
}

/** One attempt to take the media of a source: dials it, and passes on what it sends. It is accepted with its first tracks. */
export class SourceAttempt {
  readonly #options: SourceAttemptOptions
  readonly #stopping = new AbortController()
  #receiver: SourceReceiver | null = null
  #source: PulledSource | null = null

  constructor(options: SourceAttemptOptions) {
    this.#options = options
    this.#run().catch(this.#broke)
  }

  /** Call it every second. */
  readonly tick = walled(
    () => {
      if (this.#source === null || this.#stopping.signal.aborted) return
      this.#source.tick()
      this.#receiver?.received(this.#source.bytesIn, this.#source.link)
    },
    (error) => this.#broke(error),
  )

  /** A fault of ours ends this attempt and no other. */
  readonly #broke = (error: unknown): void => {
    const { log, name } = this.#options
    log.error({ err: error, source: name }, 'the media of a source could not be taken')
    this.#failed({ kind: 'lost', ...SLUICE_FAILED })
  }

  end(): void {
    this.#close('left')
  }

  /** Ends it because its media may not be published any more. */
  cut(event: AttemptEvent): void {
    this.#close('cut')
    this.#options.report(event)
  }

  async #run(): Promise<void> {
    const { dial, admit } = this.#options
    const { signal } = this.#stopping
    const dialled = await dial(signal)
    if (!dialled.ok) return this.#failed({ kind: 'lost', ...dialled.error })
    const { value: source } = dialled
    const undecided = (error: unknown): never => {
      source.close()
      throw error
    }
    const admitted = signal.aborted ? null : await admit(source.peer).catch(undecided)
    if (signal.aborted || !admitted?.ok) source.close()
    if (admitted === null) return
    if (!admitted.ok) return this.#failed(admitted.error)
    // It was cut while the decision was made.
    if (signal.aborted) return admitted.value.ended('cut', 0)
    this.#receiver = admitted.value
    await this.#take(source, admitted.value.sink)
  }

  async #take(dialled: DialledSource, sink: SourceReceiver['sink']): Promise<void> {
    const { name, accountId, audioNumbers = [], leftOut, report } = this.#options
    const { signal } = this.#stopping
    let isAccepted = false
    const source = await dialled.open({
      name,
      accountId,
      signal,
      sink: {
        ...takesAs(sink),
        tracks: (tracks) => {
          sink.tracks(tracks)
          if (!isAccepted) report({ kind: 'accepted' })
          isAccepted = true
        },
        frame: (frame) => sink.frame(frame),
        end: () => undefined,
      },
      audioNumbers,
      leftOut,
      ended: (problem) => this.#failed(problem),
    })
    if (signal.aborted) return source.end()
    this.#source = source
    await source.start()
  }

  #failed(problem: PullProblem): void {
    if (this.#stopping.signal.aborted) return
    this.#close(problem.kind === 'unsuitable' ? 'invalid' : 'lost')
    this.#options.report(problem)
  }

  #close(why: PublishEnd): void {
    this.#stopping.abort()
    this.#source?.end()
    const receiver = this.#receiver
    this.#receiver = null
    receiver?.ended(why, this.#source?.bytesIn ?? 0)
  }
}
