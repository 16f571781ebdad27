import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Longer than a playlist, and whoever holds an old one, asks for a segment (RFC 8216 section 6.2.2). */
const OLD_MS = 60_000

/**
 * Removes from the folder of a rendition what processes before those of the playlist have written: an ffmpeg removes only
 * its own segments. To be called when none is running.
 */
export async function clearLeftovers(folder: string, nowMs: number): Promise<void> {
  const playlist = await readFile(join(folder, 'index.m3u8'), 'utf8').catch(() => '')
  const oldest = launchOf(/^\d.*$/m.exec(playlist)?.[0] ?? '')
  if (oldest === null) return
  for (const name of await readdir(folder)) {
    const launch = launchOf(name)
    if (launch === null || launch >= oldest) continue
    const { mtimeMs } = await stat(join(folder, name))
    if (nowMs - mtimeMs > OLD_MS) await rm(join(folder, name), { force: true })
  }
}

/** The number of the process that wrote a file; null for what is none of its segments. */
function launchOf(name: string): number | null {
  const launch = /^(\d{1,9})_/.exec(name)?.[1]
  return launch === undefined ? null : Number(launch)
}
