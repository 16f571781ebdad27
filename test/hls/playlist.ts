/** Reads playlists as they are, without judging them, so that the rules can judge. */

export interface Part {
  readonly uri: string
  readonly durationSeconds: number
  readonly independent: boolean
}

export interface Segment {
  readonly number: number
  readonly uri: string
  readonly durationSeconds: number
  /** The date that stands before this segment. */
  readonly dateMs: number | null
  /** An `EXT-X-DISCONTINUITY` stands before this segment. */
  readonly discontinuity: boolean
  /** The number of its discontinuity: `EXT-X-DISCONTINUITY-SEQUENCE` and the discontinuities up to this segment. */
  readonly discontinuityNumber: number
  /** The init segment in force. Null: none was named in this playlist. */
  readonly mapUri: string | null
  readonly parts: readonly Part[]
}

/** The segment that is not complete yet: only its parts are listed. */
export type OpenSegment = Omit<Segment, 'uri' | 'durationSeconds'>

export interface MediaPlaylist {
  readonly text: string
  readonly version: number | null
  readonly targetSeconds: number
  readonly partTargetSeconds: number | null
  readonly canBlockReload: boolean
  readonly holdBackSeconds: number | null
  readonly partHoldBackSeconds: number | null
  readonly mediaSequence: number
  readonly discontinuitySequence: number
  readonly independentSegments: boolean
  readonly ended: boolean
  readonly segments: readonly Segment[]
  readonly open: OpenSegment | null
  /** Addresses of parts in `EXT-X-PRELOAD-HINT`. */
  readonly hints: readonly string[]
}

export interface Variant {
  readonly uri: string
  readonly bandwidth: number | null
  readonly averageBandwidth: number | null
  readonly codecs: readonly string[]
  readonly resolution: string | null
  readonly frameRate: number | null
}

interface Pending {
  dateMs: number | null
  discontinuity: boolean
  durationSeconds: number | null
  parts: Part[]
}

const fresh = (): Pending => ({ dateMs: null, discontinuity: false, durationSeconds: null, parts: [] })

export function readMediaPlaylist(text: string): MediaPlaylist {
  const lines = text.split('\n').map((line) => line.trim())
  const control = attributesOf(valueOf(lines, '#EXT-X-SERVER-CONTROL') ?? '')
  const mediaSequence = numberIn(valueOf(lines, '#EXT-X-MEDIA-SEQUENCE')) ?? 0
  const discontinuitySequence = numberIn(valueOf(lines, '#EXT-X-DISCONTINUITY-SEQUENCE')) ?? 0
  return {
    text,
    version: numberIn(valueOf(lines, '#EXT-X-VERSION')),
    targetSeconds: numberIn(valueOf(lines, '#EXT-X-TARGETDURATION')) ?? Number.NaN,
    partTargetSeconds: numberIn(attributesOf(valueOf(lines, '#EXT-X-PART-INF') ?? '').get('PART-TARGET')),
    canBlockReload: control.get('CAN-BLOCK-RELOAD') === 'YES',
    holdBackSeconds: numberIn(control.get('HOLD-BACK')),
    partHoldBackSeconds: numberIn(control.get('PART-HOLD-BACK')),
    mediaSequence,
    discontinuitySequence,
    independentSegments: lines.includes('#EXT-X-INDEPENDENT-SEGMENTS'),
    ended: lines.includes('#EXT-X-ENDLIST'),
    ...segmentsOf(lines, mediaSequence, discontinuitySequence),
    hints: lines.flatMap(hintOf),
  }
}

function hintOf(line: string): string[] {
  const attributes = attributesOf(line.startsWith('#EXT-X-PRELOAD-HINT:') ? line.slice(20) : '')
  const uri = attributes.get('URI')
  return attributes.get('TYPE') === 'PART' && uri !== undefined ? [uri] : []
}

function segmentsOf(lines: readonly string[], first: number, discontinuitySequence: number) {
  const segments: Segment[] = []
  let [pending, mapUri, discontinuityNumber] = [fresh(), null as string | null, discontinuitySequence]
  const about = () => {
    const { dateMs, discontinuity, parts } = pending
    return { number: first + segments.length, dateMs, discontinuity, discontinuityNumber, mapUri, parts }
  }
  for (const line of lines) {
    if (line === '#EXT-X-DISCONTINUITY') {
      pending.discontinuity = true
      discontinuityNumber += 1
    } else if (line.startsWith('#EXT-X-MAP:')) mapUri = attributesOf(line.slice(11)).get('URI') ?? null
    else if (line !== '' && !line.startsWith('#')) {
      segments.push({ ...about(), uri: line, durationSeconds: pending.durationSeconds ?? Number.NaN })
      pending = fresh()
    } else readTag(line, pending)
  }
  const open: OpenSegment | null = pending.parts.length === 0 ? null : about()
  return { segments, open }
}

function readTag(line: string, pending: Pending): void {
  if (line.startsWith('#EXTINF:')) pending.durationSeconds = Number.parseFloat(line.slice(8))
  else if (line.startsWith('#EXT-X-PROGRAM-DATE-TIME:')) pending.dateMs = Date.parse(line.slice(25))
  else if (line.startsWith('#EXT-X-PART:')) pending.parts.push(partOf(attributesOf(line.slice(12))))
}

const partOf = (attributes: ReadonlyMap<string, string>): Part => ({
  uri: attributes.get('URI') ?? '',
  durationSeconds: Number(attributes.get('DURATION')),
  independent: attributes.get('INDEPENDENT') === 'YES',
})

/** The variants of a master playlist, and behind them the audio tracks that players choose beside these. */
export function readMaster(text: string): Variant[] {
  const lines = text.split('\n').map((line) => line.trim())
  const media = lines.flatMap((line) => (line.startsWith('#EXT-X-MEDIA:') ? [attributesOf(line.slice(13))] : []))
  const beside = media.filter((attributes) => attributes.has('URI'))
  const variants = lines.flatMap((line, index): Variant[] => {
    if (!line.startsWith('#EXT-X-STREAM-INF:')) return []
    const attributes = attributesOf(line.slice(18))
    const hasAudioBeside = beside.some((track) => track.get('GROUP-ID') === attributes.get('AUDIO'))
    return [
      {
        uri: lines[index + 1] ?? '',
        bandwidth: numberIn(attributes.get('BANDWIDTH')),
        averageBandwidth: numberIn(attributes.get('AVERAGE-BANDWIDTH')),
        codecs: (attributes.get('CODECS')?.split(',') ?? []).filter((codec) => !hasAudioBeside || !isAudio(codec)),
        resolution: attributes.get('RESOLUTION') ?? null,
        frameRate: numberIn(attributes.get('FRAME-RATE')),
      },
    ]
  })
  return [...variants, ...beside.map((track) => trackOf(track, lines, variants))]
}

const isAudio = (codec: string): boolean => codec.startsWith('mp4a')

/** A playlist says no rates of an audio track: they are less than those of each variant. */
function trackOf(track: ReadonlyMap<string, string>, lines: readonly string[], [first]: readonly Variant[]): Variant {
  const codecs = lines.flatMap((line) => attributesOf(line).get('CODECS')?.split(',') ?? []).filter(isAudio)
  const { bandwidth = null, averageBandwidth = null } = first ?? {}
  const uri = track.get('URI') ?? ''
  return { uri, bandwidth, averageBandwidth, codecs: [...new Set(codecs)], resolution: null, frameRate: null }
}

function valueOf(lines: readonly string[], tag: string): string | undefined {
  return lines.find((line) => line.startsWith(`${tag}:`))?.slice(tag.length + 1)
}

function attributesOf(list: string): Map<string, string> {
  const pairs = [...list.matchAll(/([A-Z0-9-]+)=("[^"]*"|[^,]*)/g)]
  return new Map(pairs.map(([, name = '', value = '']) => [name, value.replaceAll('"', '')]))
}

function numberIn(text: string | undefined): number | null {
  const value = text === undefined ? Number.NaN : Number(text)
  return Number.isFinite(value) ? value : null
}

/** The number of the segment, and of the part in it, that comes next. */
export function nextOf({ mediaSequence, segments, open }: MediaPlaylist): { msn: number; part: number } {
  return { msn: mediaSequence + segments.length, part: open?.parts.length ?? 0 }
}

/** All listed parts, the oldest first. */
export const partsIn = ({ segments, open }: MediaPlaylist): Part[] => [
  ...segments.flatMap(({ parts }) => parts),
  ...(open?.parts ?? []),
]

/** The playing time of what is listed. */
export const playingSeconds = ({ segments, open }: MediaPlaylist): number =>
  segments.reduce((sum, { durationSeconds }) => sum + durationSeconds, 0) + sumOf(open?.parts ?? [])

export const sumOf = (parts: readonly Part[]): number =>
  parts.reduce((sum, { durationSeconds }) => sum + durationSeconds, 0)

/** The date at which the listed media ends, epoch milliseconds. */
export function endMsOf({ segments, open }: MediaPlaylist): number {
  let endMs = Number.NaN
  for (const { dateMs, durationSeconds } of segments) endMs = (dateMs ?? endMs) + durationSeconds * 1000
  return open === null ? endMs : (open.dateMs ?? endMs) + sumOf(open.parts) * 1000
}
