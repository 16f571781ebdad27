import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PixelSize } from '../../../base/pixelSize.ts'
import type { StreamRef } from '../../../core/streams/streamId.ts'
import { html } from '../docs/html.ts'
import { sendText } from '../staticFile.ts'
import { StoredText } from '../storedText.ts'

/** What a link to a stream shows where people share it. */
export interface WatchLink extends StreamRef {
  /** The public address of Sluice, without a slash at its end. */
  readonly base: string
  /** The stream opens without a token. */
  readonly isOpen: boolean
  /** Its thumbnail, of which the size may be unknown; null: there is none now. */
  readonly thumbnail: { readonly url: string; readonly size: PixelSize | null } | null
}

/** The part of a path that names a stream. */
export const streamPath = ({ accountId, streamName }: StreamRef): string =>
  `${encodeURIComponent(accountId)}/${encodeURIComponent(streamName)}`

export const watchUrl = ({ base, ...stream }: Pick<WatchLink, 'base'> & StreamRef): string =>
  `${base}/watch/${streamPath(stream)}`

/** The place of the head's texts in `watch.html`. */
const TITLE = '<title>Sluice</title>'

/** Sends the page around the player with the name of its stream in the title and in the preview of its link. */
export async function sendWatchPage(
  request: FastifyRequest,
  reply: FastifyReply,
  page: StoredText,
  link: WatchLink,
): Promise<FastifyReply> {
  const plain = (await page.in('identity')).toString()
  const named = new StoredText(Buffer.from(plain.replace(TITLE, () => previewOf(link))), 'identity')
  reply.headers({ 'Referrer-Policy': 'no-referrer', 'X-Content-Type-Options': 'nosniff' })
  return sendText(request, reply, named, 'text/html; charset=utf-8')
}

/**
 * Open Graph, and the two names of Twitter cards that it lacks. The name of the stream is in the address already. Nothing
 * here says whether a secured stream exists or is on the air, and no address here has a token.
 */
function previewOf({ base, accountId, streamName, isOpen, thumbnail }: WatchLink): string {
  const url = watchUrl({ base, accountId, streamName })
  const meta: [property: string, content: string][] = [
    ['og:site_name', 'Sluice'],
    ['og:type', 'video.other'],
    ['og:title', streamName],
    ['og:description', isOpen ? 'Watch the live stream.' : 'Watch with a link of your own.'],
    ['og:url', url],
  ]
  if (thumbnail !== null) {
    const { url: image, size } = thumbnail
    meta.push(['og:image', image], ['og:image:type', 'image/jpeg'])
    if (size !== null) meta.push(['og:image:width', `${size.width}`], ['og:image:height', `${size.height}`])
    meta.push(['twitter:image', image])
  }
  // Services that embed a page show the player itself.
  if (isOpen) {
    meta.push(['og:video:url', url], ['og:video:type', 'text/html'])
    meta.push(['og:video:width', '1280'], ['og:video:height', '720'])
  }
  meta.push(['twitter:card', thumbnail === null ? 'summary' : 'summary_large_image'])
  const tags = meta.map(([property, content]) => html`<meta property="${property}" content="${content}" />`)
  const oembed = `${base}/oembed?url=${encodeURIComponent(url)}`
  if (isOpen)
    tags.push(html`<link rel="alternate" type="application/json+oembed" href="${oembed}" title="${streamName}" />`)
  return [html`<title>${streamName}</title>`, ...tags].map(({ text }) => text).join('\n    ')
}
