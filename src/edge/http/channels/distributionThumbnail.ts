import type { PlaybackRules } from '../../../core/channels/playback.ts'
import type { Engine } from '../../../core/channels/types.ts'
import { atNode } from '../../../core/nodes/atNode.ts'
import type { PlaybackParts } from './playback.ts'

export const JPEG = 'image/jpeg'
/** An engine makes one every few seconds: other nodes ask once in this time, whatever their viewers do. */
export const THUMBNAIL_FOR_NODE = 'private, max-age=2'

const isPlaying = ({ status }: Engine): boolean => status === 'playing'

/** The latest thumbnail of the first engine that plays at this node; null: there is none. */
export function localThumbnail({ streamOf }: PlaybackParts, { engines, nodes }: PlaybackRules): Uint8Array | null {
  for (const { id } of engines.filter((engine) => isPlaying(engine) && !nodes.has(engine.id))) {
    const jpeg = streamOf(id)?.thumbnail ?? null
    if (jpeg !== null) return jpeg
  }
  return null
}

/** That of the first other node that has one. */
export async function remoteThumbnail(
  { remote, tickets }: PlaybackParts,
  { distribution: { id }, engines, nodes }: PlaybackRules,
): Promise<Uint8Array | null> {
  const urls = new Set(engines.filter(isPlaying).flatMap((engine) => nodes.get(engine.id) ?? []))
  for (const nodeUrl of urls) {
    const url = atNode(nodeUrl, `/v2/distributions/${id}/thumbnails/thumbnail.jpeg`)
    const answer = await remote.get(
      url,
      `${url}?node=${tickets.forNode(nodeUrl, { stream: id, name: 'thumbnail.jpeg' })}`,
    )
    if (answer?.status === 200) return answer.body
  }
  return null
}
