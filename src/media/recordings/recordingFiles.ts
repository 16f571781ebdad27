import { type WriteStream, createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { readdir, readFile, rename, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TrackInfo } from '../frame.ts'

/** A piece of a recording with one set of tracks, Matroska as it came in. */
export interface RecordingPart {
  readonly file: string
  readonly tracks: readonly PartTrack[]
}

export type PartTrack = Pick<TrackInfo, 'kind' | 'codec'> & { readonly width?: number; readonly height?: number }

/** A finished file, as it is told of. */
export interface Finished {
  readonly durationMs: number
  readonly bytes: number
  /** As they were broadcast. */
  readonly tracks: readonly PartTrack[]
}

const MANIFEST = 'parts.json'
const FINISHED = 'recording.mp4'
const ABOUT = 'recording.json'
const UNFINISHED = 'recording.partial.mp4'
/** A head and nothing behind it. */
const EMPTY_PART_BYTES = 1024

/**
 * The files of recordings: one folder each, with the parts as they came in, until they have been made into one MP4.
 */
export class RecordingFiles {
  readonly #dir: string

  constructor(dir: string) {
    this.#dir = dir
  }

  /** The finished file. */
  finished(id: string): string {
    return join(this.#folder(id), FINISHED)
  }

  /** Where the finished file is being made. */
  unfinished(id: string): string {
    return join(this.#folder(id), UNFINISHED)
  }

  /** Begins a part. What it holds is on record before its first byte, so that it can be used whatever happens. */
  begin(id: string, parts: readonly RecordingPart[]): WriteStream {
    const folder = this.#folder(id)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(join(folder, MANIFEST), JSON.stringify({ parts }))
    return createWriteStream(join(folder, parts.at(-1)?.file ?? ''), { mode: 0o600 })
  }

  /** The parts that hold anything, with their paths. */
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

  /** When the last of what came in was written, epoch milliseconds; null when nothing is there. */
  async lastWrittenMs(id: string): Promise<number | null> {
    const parts = await this.parts(id)
    const times = await Promise.all(parts.map(async ({ file }) => (await stat(file)).mtimeMs))
    return times.length === 0 ? null : Math.round(Math.max(...times))
  }

  /** All of what came in, bytes. */
  async size(id: string): Promise<number> {
    const parts = await this.parts(id)
    const sizes = await Promise.all(parts.map(async ({ file }) => (await stat(file)).size))
    return sizes.reduce((sum, size) => sum + size, 0)
  }

  /**
   * The file is finished: it gets its name, and what it was made of goes. In an order in which it can be interrupted
   * anywhere: `madeBefore` knows then what is done already.
   */
  async finish(id: string, about: Omit<Finished, 'bytes'>): Promise<Finished> {
    const { size: bytes } = await stat(this.unfinished(id))
    const made: Finished = { ...about, bytes }
    await writeFile(join(this.#folder(id), ABOUT), JSON.stringify(made), { mode: 0o600 })
    await rename(this.unfinished(id), this.finished(id))
    await this.#removeParts(id)
    return made
  }

  /** What `finish` had done, all but perhaps the last of it; null when there is no finished file. */
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
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
    const { bavail, bsize } = await statfs(this.#dir)
    return bavail * bsize
  }

  /** The manifest last: without it nothing tells what the parts are. */
  async #removeParts(id: string): Promise<void> {
    const folder = this.#folder(id)
    const rest = (await readdir(folder)).filter((name) => name !== FINISHED && name !== ABOUT && name !== MANIFEST)
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

  /** An id is all that names a folder, so it must be one. */
  #folder(id: string): string {
    if (!/^[1-9A-HJ-NP-Za-km-z]{22}$/.test(id)) throw new Error(`${id} is no id of a recording`)
    return join(this.#dir, id)
  }
}
