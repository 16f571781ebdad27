import { readdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** No playlist, not even a viewer's older copy, lists a segment for this long (RFC 8216 section 6.2.2). */
const OLD_MS = 60_000

/** The name of an engine's folder: its id. */
const ENGINE_ID = /^en_[1-9A-Za-z]{22}$/

/**
 * Removes the folders of engines from the output directory of an earlier version, and this directory if it is empty then.
 * Other files in it are not ours.
 */
export async function removeEngineFolders(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => [])
  const ours = names.filter((name) => ENGINE_ID.test(name))
  await Promise.all(ours.map((name) => rm(join(directory, name), { recursive: true, force: true })))
  await rmdir(directory).catch(() => undefined)
}

/**
 * Removes files from the folder of a rendition that are older than its playlist: an ffmpeg process removes only its own
 * segments. Call it while no process runs.
 */
export async function clearLeftovers(folder: string, nowMs: number): Promise<void> {
  const playlist = await playlistIn(folder)
  const oldest = launchOf(/^\d.*$/m.exec(playlist)?.[0] ?? '')
  if (oldest === null) return
  for (const name of await readdir(folder)) {
    const launch = launchOf(name)
    if (launch === null || launch >= oldest) continue
    const { mtimeMs } = await stat(join(folder, name))
    if (nowMs - mtimeMs > OLD_MS) await rm(join(folder, name), { force: true })
  }
}

/**
 * Prepares the playlists of an engine for a process with other renditions than the one before. A dropped rendition loses
 * its playlist, so that its viewers switch to another; a resumed one continues with the numbers of the others. Call it
 * while no process runs.
 */
export async function alignPlaylists(folders: readonly string[], isMade: (folder: string) => boolean): Promise<void> {
  const playlists = await Promise.all(folders.map(playlistIn))
  const latest = playlists.toSorted((a, b) => nextNumber(b) - nextNumber(a))[0] ?? ''
  for (const [at, folder] of folders.entries()) {
    const path = join(folder, 'index.m3u8')
    if (!isMade(folder)) await rm(path, { force: true })
    else if (playlists[at] === '' && latest !== '') await writeFile(path, emptyAfter(latest))
  }
}

const playlistIn = (folder: string): Promise<string> => readFile(join(folder, 'index.m3u8'), 'utf8').catch(() => '')

/** The number of the segment after the listed ones; 0 without a playlist. */
function nextNumber(playlist: string): number {
  const first = Number(/^#EXT-X-MEDIA-SEQUENCE:(\d{1,15})$/m.exec(playlist)?.[1] ?? 0)
  return first + (playlist.match(/^#EXTINF:/gm)?.length ?? 0)
}

/** An empty playlist: ffmpeg continues from its media sequence number. */
function emptyAfter(playlist: string): string {
  const duration = /^#EXT-X-TARGETDURATION:\d+$/m.exec(playlist)?.[0] ?? '#EXT-X-TARGETDURATION:2'
  return `#EXTM3U\n#EXT-X-VERSION:7\n${duration}\n#EXT-X-MEDIA-SEQUENCE:${nextNumber(playlist)}\n`
}

/** The launch number in the name of a file; null when no launch wrote it. */
function launchOf(name: string): number | null {
  const launch = /^(\d{1,9})_/.exec(name)?.[1]
  return launch === undefined ? null : Number(launch)
}
