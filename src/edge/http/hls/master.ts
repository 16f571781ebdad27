import type { HlsVariant } from '../../../media/hls/hlsStream.ts'

/** A master playlist with one variant (RFC 8216 section 4.3.4). */
export function feedMasterPlaylist({ bandwidth, codecs, size }: HlsVariant, uri: string): string {
  const attributes = [
    `BANDWIDTH=${bandwidth}`,
    ...(codecs === '' ? [] : [`CODECS="${codecs}"`]),
    ...(size === null ? [] : [`RESOLUTION=${size.width}x${size.height}`]),
  ]
  return `#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-STREAM-INF:${attributes.join(',')}\n${uri}\n`
}
