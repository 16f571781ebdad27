import type { VariantFacts } from './facts.ts'

/** A master playlist (RFC 8216 section 4.3.4). */
export function hlsMaster(variants: readonly VariantFacts[], uriOf: (rendition: string) => string): string {
  const lines = variants.flatMap((variant) => [
    `#EXT-X-STREAM-INF:${attributesOf(variant).join(',')}`,
    uriOf(variant.rendition),
  ])
  return `#EXTM3U\n#EXT-X-VERSION:7\n${lines.join('\n')}\n`
}

const attributesOf = ({ bandwidth, averageBandwidth, codecs, size, frameRate }: VariantFacts): string[] => [
  `BANDWIDTH=${bandwidth}`,
  ...(codecs === '' ? [] : [`CODECS="${codecs}"`]),
  ...(size === null ? [] : [`RESOLUTION=${size.width}x${size.height}`]),
  ...(frameRate === null ? [] : [`FRAME-RATE=${frameRate.toFixed(3)}`]),
  `AVERAGE-BANDWIDTH=${averageBandwidth}`,
]
