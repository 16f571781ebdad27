export interface ListedPart {
  name: string
  duration: number
  independent: boolean
}

export interface Listed {
  n: number
  name: string
  duration: number
  /** Epoch milliseconds. */
  date: number
  discontinuity: boolean
  init: string
  parts: ListedPart[]
}

export interface ReadPlaylist {
  mediaSequence: number
  discontinuitySequence: number
  targetDuration: number
  partTarget: number
  /** The lines that must never change. */
  rules: string[]
  /** The closed segments. */
  segments: Listed[]
  /** Names of the parts that are listed, of the open segment too. */
  all: string[]
  hint: string
}

/** Reads a media playlist as a player would. */
export function readPlaylist(text: string): ReadPlaylist {
  const number = (tag: string): number => Number(new RegExp(`#EXT-X-${tag}[:=]([\\d.]+)`).exec(text)?.[1])
  const segments: Listed[] = []
  let [discontinuity, init, duration, date] = [false, '', 0, 0]
  let parts: ListedPart[] = []
  for (const line of text.split('\n')) {
    if (line === '#EXT-X-DISCONTINUITY') discontinuity = true
    init = /^#EXT-X-MAP:URI="([^"?]+)/.exec(line)?.[1] ?? init
    // Durations of segments are rounded up.
    duration = Number(Number(/^#EXTINF:([\d.]+)/.exec(line)?.[1] ?? duration).toFixed(6))
    date = Date.parse(/^#EXT-X-PROGRAM-DATE-TIME:(\S+)/.exec(line)?.[1] ?? '') || date
    const part = /^#EXT-X-PART:DURATION=([\d.]+),URI="([^"?]+)[^"]*"(,INDEPENDENT=YES)?/.exec(line)
    if (part) parts.push({ duration: Number(part[1]), name: part[2]!, independent: part[3] !== undefined })
    const name = /^s\d+\.m4s/.exec(line)?.[0]
    if (name === undefined) continue
    segments.push({ n: Number(/\d+/.exec(name)), name, duration, date, discontinuity, init, parts })
    discontinuity = false
    parts = []
  }
  return {
    mediaSequence: number('MEDIA-SEQUENCE'),
    discontinuitySequence: number('DISCONTINUITY-SEQUENCE'),
    targetDuration: number('TARGETDURATION'),
    partTarget: Number(/PART-TARGET=([\d.]+)/.exec(text)?.[1]),
    rules: text.split('\n').filter((line) => /VERSION|TARGETDURATION|SERVER-CONTROL|PART-INF/.test(line)),
    segments,
    all: [...text.matchAll(/#EXT-X-PART:.*URI="([^"?]+)/g)].map(([, name = '']) => name),
    hint: /#EXT-X-PRELOAD-HINT:TYPE=PART,URI="([^"?]+)/.exec(text)?.[1] ?? '',
  }
}
