import { type Device, deviceOf } from '../channels/device.ts'

/** What is kept of a `User-Agent`: two words, and never the text itself, which may identify one person. */
export interface ClientFamilies {
  readonly device: Device
  readonly browser: string
}

/**
 * The families of browsers and players, with what their `User-Agent` contains. The first that fits counts, because most
 * browsers name those that they descend from. Libraries for this know browsers alone, and no players.
 */
const FAMILIES: readonly (readonly [family: string, sign: RegExp])[] = [
  ['OBS', /\bobs\b|obs-studio/i],
  ['VLC', /\bvlc\b|libvlc/i],
  ['ExoPlayer', /exoplayer|media3/i],
  ['AVPlayer', /applecoremedia/i],
  ['GStreamer', /gstreamer/i],
  ['FFmpeg', /\blavf\b|ffmpeg/i],
  ['Edge', /\bedg(?:e|a|ios)?\//i],
  ['Opera', /\bopr\/|\bopera\b|\bopt\//i],
  ['Samsung Internet', /samsungbrowser/i],
  ['Firefox', /firefox|fxios/i],
  ['Chrome', /chrom(?:e|ium)\/|crios/i],
  ['Safari', /safari\//i],
]

const TEXT_MAX = 512

/** The families of a viewer's program; null: it did not identify itself. */
export function familiesOf(userAgent: string | undefined): ClientFamilies | null {
  const text = (userAgent ?? '').slice(0, TEXT_MAX)
  if (text === '') return null
  return { device: deviceOf(text), browser: FAMILIES.find(([, sign]) => sign.test(text))?.[0] ?? 'Other' }
}

/** The host of a page's `Origin`; empty: unknown, as with players outside of browsers. */
export function siteOfOrigin(origin: string | null): string {
  const [, host = ''] = /^https?:\/\/(\[[^\]]+\]|[^/:?#]+)/i.exec(origin ?? '') ?? []
  return host.toLowerCase()
}
