import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { RenditionSample } from '../../core/channels/runs/measured.ts'
import { allBoxes, find, viewOf } from '../codecs/boxes.ts'

export interface SegmentMeterOptions {
  readonly clock: Pick<Clock, 'now'>
  /** The folder of each rendition that is made, by its index in the ladder. */
  readonly folders: ReadonlyMap<number, string>
  /** Measures only segments of this launch. */
  readonly launch: number
  readonly measured: (index: number, sample: RenditionSample) => void
}

/** A segment of a media playlist, with any tags in between: seconds, name and launch. */
const SEGMENT = /^#EXTINF:([\d.]{1,16}),.*\n(?:#.*\n)*((\d{1,9})_\d+\.m4s)$/gm

/** The header of a segment is far smaller: 16 bytes for each frame. */
const HEAD_BYTES = 32_768

/** Measures the segments of one ffmpeg process as they appear in its playlists. */
export class SegmentMeter {
  readonly #options: SegmentMeterOptions
  /** The latest measured segment of each rendition. */
  readonly #seen: string[] = []
  #isLooking = false

  constructor(options: SegmentMeterOptions) {
    this.#options = options
  }

  /** Call it every second. Never rejects: skips a segment that is gone. */
  async look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    for (const index of this.#options.folders.keys()) await this.#lookAt(index).catch(() => undefined)
    this.#isLooking = false
  }

  async #lookAt(index: number): Promise<void> {
    const { folders, launch, clock, measured } = this.#options
    const folder = folders.get(index) ?? ''
    const listed = [...(await readFile(join(folder, 'index.m3u8'), 'utf8')).matchAll(SEGMENT)]
    const mine = listed.filter(([, , , by]) => Number(by) === launch)
    const fresh = mine.slice(mine.findLastIndex(([, , name]) => name === this.#seen[index]) + 1)
    for (const [, seconds, name = ''] of fresh) {
      this.#seen[index] = name
      const { size, frames } = await readHead(join(folder, name))
      if (!(Number(seconds) > 0)) continue
      const framerate = frames === null ? null : Math.round((frames * 100) / Number(seconds)) / 100
      measured(index, { atMs: clock.now(), framerate, bitrate: Math.round((size * 8) / Number(seconds)) })
    }
  }
}

async function readHead(path: string): Promise<{ size: number; frames: number | null }> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(size, HEAD_BYTES)))
    return { size, frames: framesIn(buffer.subarray(0, bytesRead)) }
  } finally {
    await file.close()
  }
}

/** The number of samples of the first track, which is the video in all renditions (ISO/IEC 14496-12 section 8.8). */
function framesIn(head: Buffer): number | null {
  const moof = find(viewOf(head), 'moof')
  const [video] = moof === undefined ? [] : allBoxes(moof, 'traf')
  const runs = video === undefined ? [] : allBoxes(video, 'trun')
  if (runs.length === 0 || runs.some(({ byteLength }) => byteLength < 8)) return null
  return runs.reduce((sum, run) => sum + run.getUint32(4), 0)
}
