/** Rewrites HLS playlists (RFC 8216) of engines for viewers. */

/** A rendition in a master playlist. */
export interface Variant {
  /** The whole `EXT-X-STREAM-INF` line. */
  readonly line: string
  /** Peak bits per second. */
  readonly bandwidth: number
  /** Relative to the playlist. */
  readonly uri: string
}

const VARIANTS_MAX = 64

/** The renditions of an engine's master playlist. Empty when the playlist has none yet. */
export function variantsOf(master: string): Variant[] {
  const lines = master.split(/\r?\n/)
  const variants: Variant[] = []
  for (const [index, line] of lines.entries()) {
    const uri = lines[index + 1] ?? ''
    const bandwidth = /^#EXT-X-STREAM-INF:(?:.*,)?BANDWIDTH=(\d{1,12})/.exec(line)?.[1]
    if (bandwidth === undefined || uri === '' || uri.startsWith('#')) continue
    variants.push({ line, bandwidth: Number(bandwidth), uri })
  }
  return variants.slice(0, VARIANTS_MAX)
}

/**
 * One master playlist for all playing engines, the preferred one first. Equal renditions of two engines are
 * redundant streams to a player: when one fails it switches to the other and stays there.
 */
export function masterPlaylist(variants: readonly Variant[]): string {
  const entries = variants.map(({ line, uri }) => `${line}\n${uri}\n`)
  return `#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n${entries.join('')}`
}

/** The most consecutive processes without output that become discontinuities. A player has long given up by then. */
const SILENT_MAX = 1000

/**
 * Joins the output of several consecutive processes of an engine into one playlist, as RFC 8216 requires. File names
 * begin with the number of their process. Each change of process is a discontinuity, one for every process in
 * between (section 4.3.2.3). The discontinuity sequence is the process number of the first segment, so it counts the
 * removed ones, and is equal in all renditions (4.3.3.3, 6.2.4). Segments use the init segment of their own process
 * (4.3.2.5). ffmpeg by itself marks the changes, but names the last init segment for all.
 */
function joinLaunches(playlist: string): string[] {
  const lines = playlist.split('\n')
  const init = /^#EXT-X-MAP:URI="\d{1,9}(_\w+\.mp4)"/m.exec(playlist)?.[1]
  if (init === undefined) return lines
  const media = lines.filter((line) => !/^#EXT-X-(MAP:|DISCONTINUITY)/.test(line))
  let last: number | null = null
  return media.flatMap((line, index) => {
    if (!line.startsWith('#EXTINF:')) return [line]
    const uri = media.slice(index, index + 4).find((one) => !one.startsWith('#')) ?? ''
    const launch = Number(/^(\d{1,9})_/.exec(uri)?.[1] ?? last ?? 0)
    const tags = tagsBetween(last, launch)
    last = launch
    return tags.length === 0 ? [line] : [...tags, `#EXT-X-MAP:URI="${launch}${init}"`, line]
  })
}

/** @param last null before the first segment */
function tagsBetween(last: number | null, launch: number): string[] {
  if (last === null) return [`#EXT-X-DISCONTINUITY-SEQUENCE:${launch}`]
  const length = Math.max(0, Math.min(launch - last, SILENT_MAX))
  return Array.from({ length }, () => '#EXT-X-DISCONTINUITY')
}

/** Rewrites the URIs of a media playlist, and asks players to stay this far behind the live edge. */
export function mediaPlaylist(
  playlist: string,
  { latencySeconds, addressOf }: { latencySeconds: number; addressOf: (uri: string) => string },
): string {
  const target = Number(/^#EXT-X-TARGETDURATION:(\d+)/m.exec(playlist)?.[1] ?? 0)
  // RFC 8216bis section 4.4.3.8: no less than three target durations.
  const holdBack = `#EXT-X-SERVER-CONTROL:HOLD-BACK=${Math.max(latencySeconds, 3 * target).toFixed(1)}`
  return joinLaunches(playlist)
    .flatMap((line) => {
      if (line.startsWith('#EXT-X-TARGETDURATION:')) return [line, holdBack]
      if (line.startsWith('#')) return [line.replace(/URI="([^"]*)"/, (_, uri: string) => `URI="${addressOf(uri)}"`)]
      return [line === '' ? line : addressOf(line)]
    })
    .join('\n')
}

/** The most segments that are read from one playlist. */
const SEGMENTS_MAX = 1000

/** The segments of a media playlist, each with its duration in milliseconds (`EXTINF`, RFC 8216 4.3.2.1). */
export function segmentTimesOf(playlist: string): [name: string, ms: number][] {
  const found: [string, number][] = []
  let ms: number | null = null
  for (const line of playlist.split('\n')) {
    const seconds = /^#EXTINF:(\d{1,5}(?:\.\d{1,9})?),/.exec(line)?.[1]
    if (seconds !== undefined) ms = Math.round(Number(seconds) * 1000)
    if (ms === null || line.startsWith('#') || line === '') continue
    found.push([line.trimEnd(), ms])
    ms = null
  }
  return found.slice(-SEGMENTS_MAX)
}
