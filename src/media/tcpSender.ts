import type { Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'
import { LateLooks } from '../base/lateLooks.ts'
import type { Logger } from '../base/log.ts'
import { walled } from '../base/walls.ts'
import { coded, type CodedSentence, say } from '../core/notices.ts'
import type { Frame, TrackInfo } from './frame.ts'
import { leave } from './leaving.ts'
import { MessagePace } from './messagePace.ts'
import { MediaQueue, type WaitingMedia } from './mediaQueue.ts'
import type { SenderEnd } from './publishing.ts'
import { SLUICE_FAILED } from './pulling.ts'

/** How long a target may take for an answer, or for several that follow each other. */
const ANSWER_MS = 10_000
/** How long a target may leave media unread. */
const STUCK_MS = 10_000
const TICK_MS = 1000

export interface TcpSenderOptions {
  /** Connected, and encrypted where the URL asks for that. */
  readonly socket: Socket
  readonly clock: Clock
  readonly log: Pick<Logger, 'error'>
  /** Subscribe it to the feed now. Called once at most. */
  readonly ready: () => void
  /** The target takes the tracks of the feed. Called once at most, after `ready`. */
  readonly accepted: () => void
  /** Called once, and not after `end`. */
  readonly ended: (how: SenderEnd) => void
}

/**
 * Publishes one feed to another server over a connection of TCP. It takes frames without ever waiting: what a slow target leaves
 * unread waits in a queue, and when that is full it goes on with the next keyframe.
 */
export abstract class TcpSender<M extends WaitingMedia> {
  protected readonly socket: Socket
  protected readonly clock: Clock
  readonly #log: TcpSenderOptions['log']
  readonly #ended: TcpSenderOptions['ended']
  readonly #queue = new MediaQueue<M>()
  readonly #pace: MessagePace
  readonly #looks: LateLooks
  /** Since when an answer is due, monotonic milliseconds, as all times here; null: none is. */
  #dueSinceMs: number | null = null
  /** Since when the target has left media unread; null: it reads. */
  #blockedSinceMs: number | null = null
  #isSkipping = false
  #dropped = 0
  #isOver = false

  constructor({ socket, clock, log, ended }: TcpSenderOptions) {
    this.socket = socket
    this.clock = clock
    this.#log = log
    this.#ended = ended
    this.#pace = new MessagePace(socket)
    this.#looks = new LateLooks(TICK_MS, clock.monotonic())
    const received = (data: Buffer): void => {
      if (!this.isOver) this.received(data)
    }
    socket.on('data', walled(received, this.failed))
    socket.on(
      'drain',
      walled(() => this.unblocked(), this.failed),
    )
    socket.on('error', () => undefined)
    socket.on('close', () => this.lose(coded('target_closed')))
    this.awaitAnswer()
  }

  /** A fault of ours ends this connection and no other. */
  protected readonly failed = (error: unknown): void => {
    this.#log.error({ err: error }, 'a connection to a target failed')
    this.over({ kind: 'lost', ...SLUICE_FAILED })
  }

  /** Of the connection, in both directions. */
  get bytes(): { readonly bytesIn: number; readonly bytesOut: number } {
    return { bytesIn: this.socket.bytesRead, bytesOut: this.socket.bytesWritten }
  }

  /** What the target has not read, as far as we hold it. */
  get waitingBytes(): number {
    return this.#queue.bytes + this.socket.writableLength
  }

  /** How much media the target was too slow for: what waited, and the frames up to the next keyframe. */
  get dropped(): number {
    return this.#dropped
  }

  /** Called every second: ends a connection that stands still. */
  tick(nowMs: number): void {
    this.#pace.tick()
    this.#looks.look(nowMs)
    const lasted = (sinceMs: number | null): number => (sinceMs === null ? 0 : this.#looks.lastedMs(sinceMs, nowMs))
    if (lasted(this.#dueSinceMs) >= ANSWER_MS) this.lose(coded('target_no_answer'))
    else if (lasted(this.#blockedSinceMs) >= STUCK_MS) this.lose(coded('target_does_not_read'))
  }

  /** Says goodbye if the target reads, and closes. Nothing is called any more. Idempotent. */
  end(): void {
    if (this.isOver) return
    if (this.takesMedia && !this.isBlocked) this.sayGoodbye()
    this.#close()
    if (this.isBlocked) this.socket.destroy()
    else void leave(this.socket, this.clock)
  }

  /** Whether what waits may be sent. */
  protected abstract get takesMedia(): boolean
  /** What waited, in its pieces. */
  protected abstract piecesOf(media: M): readonly Uint8Array[]
  protected abstract received(data: Buffer): void
  protected abstract sayGoodbye(): void

  protected get isOver(): boolean {
    return this.#isOver
  }

  protected get isBlocked(): boolean {
    return this.#blockedSinceMs !== null
  }

  /** Answers are due within `ANSWER_MS` from now on, or no longer. */
  protected awaitAnswer(isDue = true): void {
    this.#dueSinceMs = isDue ? this.clock.monotonic() : null
  }

  /** The target has sent so many messages: a flood of them waits. */
  protected note(messages: number): void {
    this.#pace.note(messages)
  }

  /** Whether a frame is left out, because media before it was. */
  protected skips({ kind, key }: Frame, tracks: readonly TrackInfo[]): boolean {
    const begins = key && (kind === 'video' || !tracks.some((track) => track.kind === 'video'))
    this.#isSkipping &&= !begins
    if (this.#isSkipping) this.#dropped += 1
    return this.#isSkipping
  }

  /** False: there is no room for it. It is dropped with all that waits, up to the next keyframe. */
  protected push(media: M): boolean {
    if (this.takesMedia && !this.isBlocked && this.#queue.length === 0) this.send(media)
    else if (!this.#queue.push(media)) {
      this.#dropped += this.#queue.length + 1
      this.#queue.clear()
      this.#isSkipping = true
      return false
    }
    return true
  }

  /** Sends what waits: the target reads, or takes media now. */
  protected unblocked(): void {
    this.#blockedSinceMs = null
    while (!this.isBlocked && this.takesMedia) {
      const media = this.#queue.shift()
      if (media === undefined) return
      this.send(media)
    }
  }

  /** Its pieces leave together. To join them would copy the media once more for each target. */
  protected send(media: M): void {
    const pieces = this.piecesOf(media)
    this.socket.cork()
    for (const piece of pieces) this.write(piece)
    this.socket.uncork()
  }

  protected write(bytes: string | Uint8Array): void {
    if (!this.socket.writable || this.socket.write(bytes)) return
    this.#blockedSinceMs ??= this.clock.monotonic()
  }

  protected lose(why: CodedSentence): void {
    this.over({ kind: 'lost', ...say(why) })
  }

  protected over(how: SenderEnd): void {
    if (this.isOver) return
    this.#close()
    this.socket.destroy()
    this.#ended(how)
  }

  #close(): void {
    this.#isOver = true
    this.#dueSinceMs = null
    this.#queue.clear()
  }
}
