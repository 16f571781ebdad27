import type { IncomingMessage, ServerResponse } from 'node:http'

/** Media paths. Pages of any origin may read them, because the token's own list of origins decides. */
const MEDIA = /^\/((api\/(whip|whep)|hls)(\/|\?|$)|v2\/distributions\/[^/?]+\/(hls|thumbnails)\/)/

export const isMediaPath = (url: string | undefined): boolean => url !== undefined && MEDIA.test(url)

const EXPOSED = 'Location, Link, ETag, Accept-Patch, WWW-Authenticate, Retry-After, X-Request-Id, X-Stream-Id'

/**
 * The headers of `openToPages`, for code that writes a whole head itself. Addresses of media hold tickets and tokens, so
 * no page that is shown from one may pass it on.
 */
export const OPEN_HEAD: readonly string[] = [
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  EXPOSED,
  'Referrer-Policy',
  'no-referrer',
]

/**
 * Lets pages of every origin read the answers of media paths, refusals and errors included. Runs before anything else
 * handles the request, so that no answer lacks the headers: a page cannot show a refusal that it cannot read.
 */
export function openToPages(request: IncomingMessage, response: ServerResponse): void {
  if (!isMediaPath(request.url)) return
  response.setHeader('Access-Control-Allow-Origin', '*')
  response.setHeader('Access-Control-Expose-Headers', EXPOSED)
  response.setHeader('Referrer-Policy', 'no-referrer')
}

/**
 * The headers of a preflight answer (Fetch, section 3.3). A preflight never needs a token: browsers send none with it.
 */
export const preflight = (methods: string): Record<string, string> => ({
  'Access-Control-Allow-Methods': methods,
  'Access-Control-Allow-Headers': 'Authorization, Content-Type, If-Match',
  'Access-Control-Max-Age': '86400',
})
