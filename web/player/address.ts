import type { Delivery } from './playback.ts'

/** What to play, and how. */
export interface Wanted {
  /** Where the server is, with a `/` at its end. */
  readonly server: string
  /** `account/name` as it stands in addresses; null: `playlist` is there instead. */
  readonly stream: string | null
  /** The address of a master playlist; empty where there is a `stream`. */
  readonly playlist: string
  readonly token: string
  readonly sourceId: string
  /** `auto`: WHEP, and HLS if WHEP does not work. */
  readonly mode: 'auto' | Delivery
  /** Whether it reports to the server how well it plays. */
  readonly reports: boolean
}

/** The address of a file of HLS of a stream. */
export function hlsUrl({ server, stream, sourceId }: Wanted, file: string): string {
  const url = new URL(`${server}hls/${stream}/${file}`)
  if (sourceId !== '') url.searchParams.set('sourceId', sourceId)
  return url.href
}

/** The header that has a token; '': there is none. */
export const authorization = (token: string): Record<string, string> =>
  token === '' ? {} : { Authorization: `Bearer ${token}` }
