import type { AudioTrackFacts, VariantFacts } from './facts.ts'

/**
 * A master playlist (RFC 8216 section 4.3.4).
 *
 * @param audio the tracks of the groups that variants name
 */
export function hlsMaster(
  variants: readonly VariantFacts[],
  uriOf: (rendition: string) => string,
  audio: readonly AudioTrackFacts[] = [],
): string {
  const isMixed = new Set(variants.flatMap(videoCodecsOf)).size > 1
  const isHdr = variants.some(({ range }) => range !== 'SDR')
  const besidesOf = (variant: VariantFacts): string[] => [
    ...(isHdr ? rangeOf(variant) : []),
    ...(isMixed ? [scoreOf(variant)] : []),
  ]
  const lines = variants.flatMap((variant) => [
    `#EXT-X-STREAM-INF:${[...attributesOf(variant), ...besidesOf(variant)].join(',')}`,
    uriOf(variant.rendition),
  ])
  const media = audio.filter(({ group }) => variants.some(({ audioGroup }) => audioGroup === group))
  return written([...media.map((track) => audioLine(track, uriOf)), ...lines])
}

/** Such as `avc1`; none where they are not known or there is no video. */
const videoCodecsOf = ({ codecs, size }: VariantFacts): string[] => (size === null ? [] : [codecs.slice(0, 4)])

/**
 * One master playlist of several that `hlsMaster` wrote.
 * @param rankOf orders the variants by their addresses, the lowest first; those of one rank keep their order
 */
export function joinMasters(masters: readonly string[], rankOf: (uri: string) => number): string {
  const variants = masters.flatMap((text) =>
    Array.from(text.matchAll(/^(#EXT-X-STREAM-INF:.*)\n(.+)$/gm), ([, attributes = '', uri = '']) => ({
      lines: [attributes, uri],
      rank: rankOf(uri),
    })),
  )
  const media = masters.flatMap((text) => text.match(/^#EXT-X-MEDIA:.*$/gm) ?? [])
  return written([...media, ...variants.toSorted((a, b) => a.rank - b.rank).flatMap(({ lines }) => lines)])
}

const written = (lines: readonly string[]): string => `#EXTM3U\n#EXT-X-VERSION:7\n${lines.join('\n')}\n`

/** Encoders of channels make all of them stereo. */
function audioLine(
  { group, rendition, language, label, isDefault }: AudioTrackFacts,
  uriOf: (rendition: string) => string,
): string {
  const uri = rendition === null ? '' : `,URI="${uriOf(rendition)}"`
  const names = `GROUP-ID="${group}",NAME="${label}",LANGUAGE="${language}"`
  return `#EXT-X-MEDIA:TYPE=AUDIO,${names},DEFAULT=${isDefault ? 'YES' : 'NO'},AUTOSELECT=YES,CHANNELS="2"${uri}`
}

const attributesOf = ({ bandwidth, averageBandwidth, codecs, size, frameRate, audioGroup }: VariantFacts): string[] => [
  `BANDWIDTH=${bandwidth}`,
  ...(codecs === '' ? [] : [`CODECS="${codecs}"`]),
  ...(size === null ? [] : [`RESOLUTION=${size.width}x${size.height}`]),
  ...(frameRate === null ? [] : [`FRAME-RATE=${frameRate.toFixed(3)}`]),
  `AVERAGE-BANDWIDTH=${averageBandwidth}`,
  ...(audioGroup === undefined ? [] : [`AUDIO="${audioGroup}"`]),
]

const rangeOf = ({ range, size }: VariantFacts): string[] => (size === null ? [] : [`VIDEO-RANGE=${range}`])

/** The higher the better: bandwidths do not compare codecs (draft-pantos-hls-rfc8216bis section 4.4.6.2). */
const scoreOf = ({ size }: VariantFacts): string => `SCORE=${size === null ? 1 : Math.min(size.width, size.height)}`
