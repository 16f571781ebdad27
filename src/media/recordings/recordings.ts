import { Batches } from '../../base/batches.ts'
import { type Clock, inTime, pause } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { repeat, type Repetition, type Round } from '../../base/repeat.ts'
import { SetIndex } from '../../base/setIndex.ts'
import { coded, type Said, say } from '../../core/notices.ts'
import type { RecordedTrack } from '../../core/recordings/types.ts'
import type { ActiveFeed } from '../feedsOnAir.ts'
import { exitReason, exitSentence, exitUnlessStalled, exitWithin, wasKilled } from '../ffmpeg/exits.ts'
import type { Ffmpeg, FfmpegProcess } from '../ffmpeg/ffmpeg.ts'
import { type FinishingStep, finishingSteps } from './finishing.ts'
import { Recorder, type RecordingEnd } from './recorder.ts'
import { TO_JPEG } from './thumbnails.ts'
import type { Finished, RecordingPart, PartTrack, RecordingFiles } from './recordingFiles.ts'

/** Saves the state of recordings. Every method is idempotent, and rejects when the store is unavailable. */
export interface RecordingBook {
  begin(feed: ActiveFeed, recording: { id: string; atMs: number; tracks: readonly RecordedTrack[] }): Promise<void>
  /** @param problem why it ended before its feed, which is emitted at once; null: it did not */
  end(id: string, atMs: number, problem: Said | null): Promise<void>
  complete(id: string, file: { bytes: number; durationMs: number; tracks: readonly RecordedTrack[] }): Promise<void>
  fail(id: string, problem: Said): Promise<void>
  /** Its files are removed. */
  forget(id: string): Promise<void>
  /** The files of these are here, whatever this host was called when it made them, and wherever they were meanwhile. */
  adopt(ids: readonly string[]): Promise<void>
  /** Recordings that no other process works on, for this one to finish. */
  abandoned(): Promise<readonly { readonly id: string; readonly accountId: string }[]>
  /** Recordings whose files have to be removed. */
  deleted(): Promise<readonly string[]>
}

export interface RecordingsOptions {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  readonly files: RecordingFiles
  readonly book: RecordingBook
  readonly newId: () => string
  /** Recording stops when less than this is free on the disk, bytes. */
  readonly limits: { readonly minFreeBytes: number }
}

const SPACE_MS = 5000
const TIDY_MS = 30_000
const BUSY_MS = 5000
/** Recordings that are finished of an account before the others have their turn. */
const TURN_OF_ACCOUNT = 3
/** Pause before the next try to save a state: a full disk may stop the store as well. */
const RETRY_MS = 1000
/** How often a killed conversion is started in all. */
const ATTEMPTS = 3
/** The longest wait for a thumbnail. A recording without one is complete. */
const THUMBNAIL_MS = 15_000
/** The first seconds of a broadcast show its preparations, so the thumbnail is from a tenth of it, this far at most. */
const THUMBNAIL_AT_MAX_MS = 60_000
/** A conversion without progress for this long is stopped; moving the index of a large file to its front takes minutes. */
const STALL_MS = 600_000

/**
 * Records feeds, and converts recordings into files, one at a time. After a crash, or while the store is unavailable, it
 * finds unfinished recordings later and continues with them.
 */
export class Recordings {
  readonly #options: RecordingsOptions
  readonly #recorders = new Map<string, Recorder>()
  readonly #stopping = new AbortController()
  readonly #loops: Repetition[]
  /** Recordings in progress, or whose end is not saved yet: they are not abandoned. */
  readonly #active = new Set<string>()
  readonly #ends = new Set<Promise<void>>()
  /** The room for conversions that have met a full disk, bytes. */
  readonly #needed = new Map<string, number>()
  /** What has to be finished, by its account. */
  readonly #waiting = new SetIndex<string, string>()
  readonly #rounds = new Batches<null>(1)
  readonly #removals = new Batches<null>(1)
  #process: FfmpegProcess | null = null
  /** Those whose files were here at the last look. A disk that was not mounted has more. */
  #adopted: ReadonlySet<string> = new Set()

  constructor(options: RecordingsOptions) {
    this.#options = options
    this.#loops = [
      this.#repeat('remove deleted recordings', TIDY_MS, () => this.removeDeleted()),
      this.#repeat('find unfinished recordings', TIDY_MS, () => this.#findUnfinished()),
      this.#repeat('watch the space for recordings', SPACE_MS, () => this.#watchSpace()),
    ]
  }

  /** Records a feed from its next keyframe on. One that is recorded goes on; after an end another recording begins. */
  start(feed: ActiveFeed): void {
    const { clock, files, log, newId } = this.#options
    if (this.#stopping.signal.aborted || this.#recorders.get(feed.feedId)?.isOver === false) return
    const id = newId()
    let begun: Promise<boolean> | null = null
    const recorder = new Recorder({
      clock,
      feed,
      files,
      id,
      begun: (tracks, atMs) => void (begun = this.#begin(feed, id, tracks, atMs)),
      ended: (end) => {
        const { problem, dropped } = end
        if (problem !== null) log.error({ recordingId: id, problem: problem.message }, 'a recording ended early')
        if (dropped > 0) log.warn({ recordingId: id, frames: dropped }, 'the disk was too slow for all of a recording')
        if (begun !== null) this.#await(this.#later('saving the end of a recording', this.#end(feed, id, begun, end)))
        else if (problem !== null)
          this.#await(this.#later('saving a recording that failed', this.#failAtOnce(feed, id, problem)))
      },
    })
    this.#recorders.set(feed.feedId, recorder)
    this.#await(this.#later('checking the free space', this.#watchSpace()))
  }

  end(feedId: string): void {
    this.#recorders.get(feedId)?.stop(null)
    this.#recorders.delete(feedId)
  }

  /** Removes the files of recordings that were deleted. Calls that come meanwhile share another round. */
  removeDeleted(): Promise<void> {
    return this.#removals.add(null, () => this.#removeAll())
  }

  /** Where there are no files at all, their disk may not be mounted: they are removed when it is. */
  async #removeAll(): Promise<void> {
    const { book, files } = this.#options
    const deleted = await book.deleted()
    if (deleted.length === 0 || (await files.ids()).length === 0) return
    for (const id of deleted) await this.#later(`removing recording ${id}`, this.#remove(id))
  }

  async #remove(id: string): Promise<void> {
    const { book, files } = this.#options
    await files.remove(id)
    await book.forget(id)
  }

  /** Ends all recordings. Finishes what it can within `graceMs`, and leaves the rest to the next start. */
  async stop(graceMs: number): Promise<void> {
    const { clock } = this.#options
    for (const feedId of this.#recorders.keys()) this.end(feedId)
    const finished = Promise.all(this.#ends).then(() => this.#finishWaiting())
    await inTime(clock, graceMs, finished)
    this.#stopping.abort()
    await this.#process?.stop(0)
    await Promise.all([...this.#loops.map(({ over }) => over), ...this.#ends, this.#finishWaiting()])
  }

  /** Media are recorded while it cannot be saved, too. False: the server stops before. */
  #begin(feed: ActiveFeed, id: string, tracks: readonly PartTrack[], atMs: number): Promise<boolean> {
    this.#active.add(id)
    const begun = { id, atMs, tracks: tracks.map(trackOf) }
    return this.#untilDone('save the begin of a recording', () => this.#options.book.begin(feed, begun))
  }

  /** Saves a recording that failed before its first media, so that its account gets the reason. */
  async #failAtOnce(feed: ActiveFeed, id: string, problem: Said): Promise<void> {
    const { book, clock } = this.#options
    this.#active.add(id)
    try {
      const atMs = clock.now()
      await book.begin(feed, { id, atMs, tracks: [] })
      await book.end(id, atMs, null)
      await book.fail(id, problem)
    } finally {
      this.#active.delete(id)
    }
  }

  /** A recording ends with its last media; Sluice detects a lost publisher later than that. */
  async #end(
    { accountId }: ActiveFeed,
    id: string,
    begun: Promise<boolean>,
    { atMs: endedAtMs, problem }: RecordingEnd,
  ): Promise<void> {
    const { book, files } = this.#options
    const isSaved = await begun
    if (isSaved) await this.#untilDone('save the end of a recording', () => book.end(id, endedAtMs, problem))
    this.#active.delete(id)
    if (!isSaved) return files.remove(id)
    this.#waiting.add(accountId, id)
    // Not awaited: other recordings may come first.
    void this.#finishWaiting()
  }

  /** Retries until the work is done. False: the server stops before; the next start finds what is on record. */
  async #untilDone(name: string, work: () => Promise<void>): Promise<boolean> {
    let isDone = false
    await this.#repeat(name, RETRY_MS, async () => {
      await work()
      isDone = true
      return 'done'
    }).over
    return isDone
  }

  /** Those of other processes, and what failed before. There may be thousands, so that they are read seldom. */
  async #findUnfinished(): Promise<void> {
    const { book, files } = this.#options
    const ids = await files.ids()
    const others = ids.filter((id) => !this.#adopted.has(id))
    if (others.length > 0) await book.adopt(others)
    this.#adopted = new Set(ids)
    for (const { id, accountId } of await book.abandoned()) if (!this.#active.has(id)) this.#waiting.add(accountId, id)
    void this.#finishWaiting()
  }

  /** Never rejects. */
  #finishWaiting(): Promise<void> {
    return this.#rounds.add(null, () => this.#finishInTurns())
  }

  /** Accounts take turns, so that one with thousands of short recordings keeps no other waiting. */
  async #finishInTurns(): Promise<void> {
    for (;;) {
      const turn = [...this.#waiting.keys()].flatMap((accountId) =>
        [...this.#waiting.get(accountId)].slice(0, TURN_OF_ACCOUNT).map((id) => ({ accountId, id })),
      )
      if (turn.length === 0) return
      for (const { accountId, id } of turn) {
        if (this.#stopping.signal.aborted) return
        await this.#later(`finishing recording ${id}`, this.#finish(id))
        // One that fails each time keeps no other from being finished.
        this.#waiting.remove(accountId, id)
      }
    }
  }

  /** Logs a failure; the next round tries again. */
  async #later(what: string, work: Promise<void>): Promise<void> {
    await work.catch((error: unknown) =>
      this.#options.log.warn({ what, err: error }, 'work on recordings failed; it is tried again later'),
    )
  }

  #await(end: Promise<void>): void {
    this.#ends.add(end)
    void end.finally(() => this.#ends.delete(end))
  }

  async #finish(id: string): Promise<void> {
    const { book, clock, files } = this.#options
    // Another process may have left it open: it ended with the last write.
    await book.end(id, (await files.lastWrittenMs(id)) ?? clock.now(), null)
    const before = await files.madeBefore(id)
    if (before !== null) return this.#complete(id, before)
    const parts = await files.parts(id)
    if (parts.length === 0)
      return book.fail(id, say(coded((await files.has(id)) ? 'recording_empty' : 'recording_away')))
    if (!(await this.#hasRoom(id))) return
    const made = await this.#convert(id, parts)
    if (made === null) return
    this.#needed.delete(id)
    if ('message' in made) return book.fail(id, made)
    await this.#complete(id, await files.finish(id, { ...made, tracks: tracksOf(parts) }))
  }

  /** Waits for the space. The file is about as large as its parts. */
  async #hasRoom(id: string): Promise<boolean> {
    const { files, log } = this.#options
    const [free, needed] = [await files.free(), await this.#neededBy(id)]
    if (free < needed) log.warn({ recordingId: id, free, needed }, 'a recording waits for space on the disk')
    return free >= needed
  }

  async #neededBy(id: string): Promise<number> {
    return this.#needed.get(id) ?? (await this.#options.files.size(id))
  }

  async #complete(id: string, file: Finished): Promise<void> {
    if (file.tracks.some(({ kind }) => kind === 'video')) await this.#takeThumbnail(id, file)
    if (this.#stopping.signal.aborted) return
    await this.#options.book.complete(id, { ...file, tracks: file.tracks.map(trackOf) })
  }

  /** Makes the thumbnail, or logs why there is none. */
  async #takeThumbnail(id: string, { durationMs }: Finished): Promise<void> {
    const { ffmpeg, files, clock, log } = this.#options
    const atSeconds = Math.min(durationMs / 10, THUMBNAIL_AT_MAX_MS) / 1000
    const input = ['-ss', atSeconds.toFixed(3), '-i', files.finished(id)]
    const args = [...input, ...TO_JPEG, '-y', files.unfinishedThumbnail(id)]
    const started = ffmpeg.run({ name: `thumbnail of recording ${id}`, args, background: true })
    if (!started.ok) return log.warn({ recordingId: id, problem: started.error.message }, NO_THUMBNAIL)
    this.#process = started.value
    const exit = await exitWithin(started.value, clock, THUMBNAIL_MS)
    this.#process = null
    const isMade = exit.code === 0 && (await files.finishThumbnail(id))
    if (!isMade) log.warn({ recordingId: id, problem: exitReason(exit) }, NO_THUMBNAIL)
  }

  /** The duration; or the problem; or null when the next round has to try again. */
  async #convert(id: string, parts: readonly RecordingPart[]): Promise<{ durationMs: number } | Said | null> {
    let durationMs = 0
    for (const step of finishingSteps(parts, this.#options.files.unfinished(id))) {
      const made = await this.#convertSome(id, step)
      if (made === null || 'message' in made) return made
      ;({ durationMs } = made)
    }
    return { durationMs }
  }

  async #convertSome(id: string, step: FinishingStep): Promise<{ durationMs: number } | Said | null> {
    const { ffmpeg, files, clock, log } = this.#options
    const name = `recording ${id}`
    for (let kills = 0; !this.#stopping.signal.aborted; ) {
      const started = ffmpeg.run({ name, ...step, background: true })
      if (!started.ok && started.error.code === 'missing') return started.error
      if (!started.ok) {
        // The steps before need not be done again.
        await pause(clock, BUSY_MS, this.#stopping.signal)
        continue
      }
      this.#process = started.value
      const exit = await exitUnlessStalled(started.value, { clock, log, name, everyMs: STALL_MS })
      this.#process = null
      if (this.#stopping.signal.aborted) return null
      if (exit.code === 0) return { durationMs: Math.round(started.value.progress.outTimeMs ?? 0) }
      // Others have filled it meanwhile, or the file was larger than its parts.
      if (DISK_FULL.test(exit.tail)) {
        this.#needed.set(id, 2 * (await this.#neededBy(id)))
        await files.removeUnfinished(id)
        log.warn(
          { recordingId: id, problem: exitReason(exit) },
          'a recording is finished later, because the disk is full',
        )
        return null
      }
      // A kill, such as for lack of memory, may not happen again.
      kills += 1
      if (!wasKilled(exit) || kills === ATTEMPTS) return say(exitSentence(exit))
    }
    return null
  }

  async #watchSpace(): Promise<void> {
    const { files, limits } = this.#options
    if (this.#recorders.size === 0 || (await files.free()) >= limits.minFreeBytes) return
    for (const [feedId, recorder] of this.#recorders) {
      this.#recorders.delete(feedId)
      recorder.stop(say(coded('recording_disk_full')))
    }
  }

  #repeat(name: string, everyMs: number, round: Round): Repetition {
    const { clock, log } = this.#options
    return repeat({ clock, log, name, everyMs, signal: this.#stopping.signal }, round)
  }
}

/** What ffmpeg says in all languages: it knows one. */
const DISK_FULL = /No space left on device|Disk quota exceeded/
const NO_THUMBNAIL = 'a recording has no thumbnail'

const trackOf = ({ kind, codec, width = 0, height = 0 }: PartTrack): RecordedTrack => ({
  type: kind,
  codec,
  ...(width > 0 && height > 0 ? { width, height } : {}),
})

/** The latest track of each kind: the first part may have video only, with audio from a later part on. */
function tracksOf(parts: readonly RecordingPart[]): PartTrack[] {
  const all = parts.flatMap(({ tracks }) => tracks)
  const kinds = ['video', 'audio'] as const
  return kinds.map((kind) => all.findLast((track) => track.kind === kind)).filter((track) => track !== undefined)
}
