import type { FeedRendition } from '../hls/feedRungs.ts'
import type { BodyReader } from '../validation/bodyReader.ts'

interface Body {
  hlsRenditions?: FeedRendition[] | null
}

/** The renditions of a body, the largest first; undefined when it has none. Heights name renditions, so they are distinct. */
export function canonicalRenditions(body: BodyReader<Body>): FeedRendition[] | undefined {
  if (!body.names('hlsRenditions')) return undefined
  const found = body.items('hlsRenditions')
  for (const [index, { at, item }] of found.entries()) {
    if (item.height % 2 === 1) body.problems.add(`${at}.height`, 'must be even')
    if (found.slice(0, index).some(({ item: { height } }) => height === item.height))
      body.problems.add(`${at}.height`, `there are two renditions with a height of ${item.height}`)
  }
  return found.map(({ item: { height, bitrate } }) => ({ height, bitrate })).toSorted((a, b) => b.height - a.height)
}
