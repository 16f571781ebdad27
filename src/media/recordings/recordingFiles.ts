import { type WriteStream, createWriteStream, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DiskSpace, diskSpaceOf } from '../../base/diskSpace.ts'
import { hasCode } from '../../base/errorCode.ts'
import { makeFolder, syncFile, syncFolder } from '../../base/files.ts'
import type { TrackInfo } from '../frame.ts'

/** A part of a recording with one set of tracks, as Matroska in the source's codecs. */
export interface RecordingPart {
  readonly file: string
  readonly tracks: readonly PartTrack[]
}

export type PartTrack = Pick<TrackInfo, 'kind' | 'codec'> & { readonly width?: number; readonly height?: number }

/** The facts about a finished file. */
export interface Finished {
  readonly durationMs: number
  readonly bytes: number
  /** The tracks of the broadcast, before conversion. */
  readonly tracks: readonly PartTrack[]
}

const ID = /^[1-9A-HJ-NP-Za-km-z]{22}$/
const MANIFEST = 'parts.json'
const UNFINISHED_MANIFEST = 'parts.partial.json'
const FINISHED = 'recording.mp4'
const ABOUT = 'recording.json'
const UNFINISHED = 'recording.partial.mp4'
const THUMBNAIL = 'thumbnail.jpeg'
const UNFINISHED_THUMBNAIL = 'thumbnail.partial.jpeg'
/** Not removed with the parts. */
const KEPT: ReadonlySet<string> = new Set([FINISHED, ABOUT, MANIFEST, THUMBNAIL])
/** A part up to this size has a header and no media. */
const EMPTY_PART_BYTES = 1024

/** The files of recordings: one folder for each, with its parts until they are converted into one MP4. */
export class RecordingFiles {
  readonly #dir: string

  constructor(dir: string) {
    this.#dir = dir
  }

  /** Those that have files. */
  async ids(): Promise<string[]> {
    const names = await readdir(this.#dir).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw error
      return []
    })
    return names.filter((name) => ID.test(name))
  }

  /** Whether it has files, of whatever kind. */
  has(id: string): Promise<boolean> {
    return stat(this.#folder(id)).then(
      () => true,
      () => false,
    )
  }

  /** The path of the finished file. */
  finished(id: string): string {
    return join(this.#folder(id), FINISHED)
  }

  /** The path of the file while the conversion writes it. Those that it puts together have names that begin with it. */
  unfinished(id: string): string {
    return join(this.#folder(id), UNFINISHED)
  }

  /** Removes what a conversion has written that failed. */
  async removeUnfinished(id: string): Promise<void> {
    const folder = this.#folder(id)
    const names = (await readdir(folder)).filter((name) => name.startsWith(UNFINISHED))
    await Promise.all(names.map((name) => rm(join(folder, name), { force: true })))
  }

  /** The path of the thumbnail, a JPEG. */
  thumbnail(id: string): string {
    return join(this.#folder(id), THUMBNAIL)
  }

  /** The path of the thumbnail while ffmpeg writes it. */
  unfinishedThumbnail(id: string): string {
    return join(this.#folder(id), UNFINISHED_THUMBNAIL)
  }

  /** Gives the finished thumbnail its name. False: ffmpeg found no frame to write. */
  async finishThumbnail(id: string): Promise<boolean> {
    return rename(this.unfinishedThumbnail(id), this.thumbnail(id)).then(
      () => true,
      () => false,
    )
  }

  /** Begins a part. Writes the manifest before the part's first byte, so that the part is usable after a crash. */
  begin(id: string, parts: readonly RecordingPart[]): WriteStream {
    const folder = this.#folder(id)
    makeFolder(folder)
    // In one step: a disk that is full by now must not take the description of earlier parts.
    writeFileSync(join(folder, UNFINISHED_MANIFEST), JSON.stringify({ parts }))
    renameSync(join(folder, UNFINISHED_MANIFEST), join(folder, MANIFEST))
    return createWriteStream(join(folder, parts.at(-1)?.file ?? ''), { mode: 0o600 })
  }

  /** The parts with media, with their paths. */
  async parts(id: string): Promise<RecordingPart[]> {
    const found: RecordingPart[] = []
    for (const part of this.#manifest(id)) {
      const file = join(this.#folder(id), part.file)
      const size = await stat(file).then(
        (about) => about.size,
        () => 0,
      )
      if (size > EMPTY_PART_BYTES) found.push({ ...part, file })
    }
    return found
  }

  /** Time of the last write to a part, epoch milliseconds; null without parts. */
  async lastWrittenMs(id: string): Promise<number | null> {
    const parts = await this.parts(id)
    const times = await Promise.all(parts.map(async ({ file }) => (await stat(file)).mtimeMs))
    return times.length === 0 ? null : Math.round(Math.max(...times))
  }

  /** Size of all parts, bytes. */
  async size(id: string): Promise<number> {
    const parts = await this.parts(id)
    const sizes = await Promise.all(parts.map(async ({ file }) => (await stat(file)).size))
    return sizes.reduce((sum, size) => sum + size, 0)
  }

  /**
   * Gives the finished file its name and removes the parts, when the file is on disk. A crash may interrupt it at any step:
   * `madeBefore` then completes it.
   */
  async finish(id: string, about: Omit<Finished, 'bytes'>): Promise<Finished> {
    const { size: bytes } = await stat(this.unfinished(id))
    const made: Finished = { ...about, bytes }
    const folder = this.#folder(id)
    await writeFile(join(folder, ABOUT), JSON.stringify(made), { mode: 0o600 })
    await Promise.all([join(folder, ABOUT), this.unfinished(id)].map(syncFile))
    await rename(this.unfinished(id), this.finished(id))
    await syncFolder(folder)
    await this.#removeParts(id)
    return made
  }

  /** The result of an earlier `finish`, whose last step it repeats; null when there is no finished file. */
  async madeBefore(id: string): Promise<Finished | null> {
    const folder = this.#folder(id)
    const isThere = await stat(this.finished(id)).then(
      () => true,
      () => false,
    )
    if (!isThere) return null
    const made = JSON.parse(await readFile(join(folder, ABOUT), 'utf8')) as Finished
    await this.#removeParts(id)
    return made
  }

  async remove(id: string): Promise<void> {
    await rm(this.#folder(id), { recursive: true, force: true })
  }

  /** Free space, bytes. */
  async free(): Promise<number> {
    return (await this.space()).freeBytes
  }

  /** The disk of the files. */
  async space(): Promise<DiskSpace> {
    makeFolder(this.#dir)
    return diskSpaceOf(this.#dir)
  }

  /** Removes the manifest last, because only it describes the parts. */
  async #removeParts(id: string): Promise<void> {
    const folder = this.#folder(id)
    const rest = (await readdir(folder)).filter((name) => !KEPT.has(name))
    await Promise.all(rest.map((name) => rm(join(folder, name), { force: true })))
    await rm(join(folder, MANIFEST), { force: true })
  }

  #manifest(id: string): readonly RecordingPart[] {
    try {
      const { parts } = JSON.parse(readFileSync(join(this.#folder(id), MANIFEST), 'utf8')) as { parts: RecordingPart[] }
      return parts
    } catch {
      return []
    }
  }

  /** The folder of a recording. Checks the id, which alone forms the path. */
  #folder(id: string): string {
    if (!ID.test(id)) throw new Error(`${id} is not the id of a recording`)
    return join(this.#dir, id)
  }
}
