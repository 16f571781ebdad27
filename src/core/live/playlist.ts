/** Playlists (RFC 8216) on their way from an engine to a viewer. */

/** A rendition as a master playlist announces it. */
export interface Variant {
  /** The whole `EXT-X-STREAM-INF` line. */
  readonly line: string
  /** Bits a second, at most. */
  readonly bandwidth: number
  /** Relative to the playlist. */
  readonly uri: string
}

const VARIANTS_MAX = 64

/** The renditions of a master playlist as an engine writes it. Empty for what is none yet. */
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
 * One master playlist of all engines that play, the preferred one first. Renditions that two engines make alike are
 * redundant streams to a player: it goes to the next when one fails, and stays there.
 */
export function masterPlaylist(variants: readonly Variant[]): string {
  const entries = variants.map(({ line, uri }) => `${line}\n${uri}\n`)
  return `#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n${entries.join('')}`
}

/** Rewrites the addresses of a media playlist, and asks players to stay so far behind the live edge. */
export function mediaPlaylist(
  playlist: string,
  { latencySeconds, addressOf }: { latencySeconds: number; addressOf: (uri: string) => string },
): string {
  const target = Number(/^#EXT-X-TARGETDURATION:(\d+)/m.exec(playlist)?.[1] ?? 0)
  // RFC 8216bis section 4.4.3.8: no less than three target durations.
  const holdBack = `#EXT-X-SERVER-CONTROL:HOLD-BACK=${Math.max(latencySeconds, 3 * target).toFixed(1)}`
  return playlist
    .split('\n')
    .flatMap((line) => {
      if (line.startsWith('#EXT-X-TARGETDURATION:')) return [line, holdBack]
      if (line.startsWith('#')) return [line.replace(/URI="([^"]*)"/, (_, uri: string) => `URI="${addressOf(uri)}"`)]
      return [line === '' ? line : addressOf(line)]
    })
    .join('\n')
}
