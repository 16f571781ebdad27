import type { PixelSize } from '../../../base/pixelSize.ts'
import { err, ok, type Result } from '../../../base/result.ts'
import { checkStreamName } from '../../../core/access/streamName.ts'
import type { StreamRef } from '../../../core/streams/streamId.ts'
import { plainTextProblem } from '../../../core/validation/text.ts'
import { html } from '../docs/html.ts'
import { type WatchLink, watchUrl } from './watchPage.ts'

// oEmbed 1.0 (https://oembed.com): how a site that finds a link to `/watch` shows it.

const URL_MAX = 2048
/** What the page in the frame may do. */
const ALLOWED = 'autoplay; fullscreen; picture-in-picture'
const WIDTH = { default: 640, min: 200, max: 1920 }

/** What a site asks for. */
interface OembedQuery extends StreamRef {
  /** Pixels; infinite: the site takes any. */
  readonly most: PixelSize
  /** Pixels, 16:9. Null: the player does not fit. */
  readonly size: PixelSize | null
}

/** 404: no link to a stream of this server. 501: a format other than JSON. */
interface OembedRefusal {
  readonly status: 400 | 404 | 501
  readonly text: string
}

type Given = Readonly<Record<string, unknown>>

/** @param base the public address of Sluice, without a slash at its end */
export function readOembed(query: Given, base: string): Result<OembedQuery, OembedRefusal> {
  const { url, format = 'json' } = query
  if (typeof url !== 'string') return refuse(400, 'Bad request: url is required, once')
  if (format !== 'json') return refuse(501, 'Not implemented: only the format json')
  const [width, height] = [boundOf(query['maxwidth']), boundOf(query['maxheight'])]
  if (width === undefined || height === undefined)
    return refuse(400, 'Bad request: maxwidth and maxheight must be whole numbers of pixels')
  const stream = streamAt(url, base)
  if (stream === null) return refuse(404, `Not found: url is no link to a stream at ${base}/watch/`)
  const most = { width: width ?? Number.POSITIVE_INFINITY, height: height ?? Number.POSITIVE_INFINITY }
  return ok({ ...stream, most, size: playerSize(width ?? WIDTH.default, most.height) })
}

function playerSize(maxWidth: number, maxHeight: number): PixelSize | null {
  const width = Math.floor(Math.min(maxWidth, (maxHeight * 16) / 9, WIDTH.max))
  return width < WIDTH.min ? null : { width, height: Math.floor((width * 9) / 16) }
}

const refuse = (status: OembedRefusal['status'], text: string): Result<never, OembedRefusal> => err({ status, text })

/** Null: none. Undefined: it is wrong. */
function boundOf(given: unknown): number | null | undefined {
  if (given === undefined) return null
  return typeof given === 'string' && /^[1-9]\d{0,5}$/.test(given) ? Number(given) : undefined
}

/** The stream that a link leads to. What else the link has, such as a token, is dropped. */
function streamAt(url: string, base: string): Pick<OembedQuery, 'accountId' | 'streamName'> | null {
  const link = url.length <= URL_MAX && URL.canParse(url) ? new URL(url) : null
  const prefix = `${base}/watch/`
  const address = link === null ? '' : `${link.origin}${link.pathname}`
  const parts = address.startsWith(prefix) ? address.slice(prefix.length).split('/') : []
  try {
    const [accountId, streamName, ...more] = parts.map(decodeURIComponent)
    if (!accountId || streamName === undefined || more.length > 0) return null
    if (plainTextProblem(accountId) !== null || checkStreamName(streamName) !== null) return null
    return { accountId, streamName }
  } catch {
    return null
  }
}

/**
 * The player of an open stream. Of any other stream it says no more than the link, whether it exists or not, and the site shows
 * the link.
 */
export function oembedOf(
  { base, accountId, streamName, isOpen, thumbnail }: WatchLink,
  { most, size }: Pick<OembedQuery, 'most' | 'size'>,
): object {
  const provider = { provider_name: 'Sluice', provider_url: `${base}/` }
  const about = { version: '1.0', title: streamName, ...provider, ...thumbnailWithin(most, thumbnail) }
  if (!isOpen || size === null) return { type: 'link', ...about }
  const src = watchUrl({ base, accountId, streamName })
  const { width, height } = size
  const pixels = html`width="${width}" height="${height}"`
  const frame = html`<iframe src="${src}" title="${streamName}" ${pixels} allow="${ALLOWED}" style="border: 0"></iframe>`
  return { type: 'video', ...about, width, height, html: frame.text }
}

/** oEmbed requires the size too, and a picture within the bounds of the site. */
function thumbnailWithin(most: PixelSize, thumbnail: WatchLink['thumbnail']): object {
  const { url, size } = thumbnail ?? { url: '', size: null }
  if (size === null || size.width > most.width || size.height > most.height) return {}
  return { thumbnail_url: url, thumbnail_width: size.width, thumbnail_height: size.height }
}
