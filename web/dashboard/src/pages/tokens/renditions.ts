/** A rendition of HLS, as the API has it. */
export interface FeedRendition {
  /** Pixels of the shorter side. */
  readonly height: number
  /** Bits per second. */
  readonly bitrate: number
}

const ENTRY = /^(\d{1,5})p?:(\d{1,6})k?$/i

/** The rendition that a text means: `480p:1200` is 480p with at most 1200 kbit/s. Zeros when it means none. */
export function renditionOf(text: string): FeedRendition {
  const [, height = '0', kilobits = '0'] = ENTRY.exec(text.trim()) ?? []
  return { height: Number(height), bitrate: Number(kilobits) * 1000 }
}

export const shownRendition = ({ height, bitrate }: FeedRendition): string => `${height}p:${bitrate / 1000}`
