import type { IncomingMessage, ServerResponse } from 'node:http'

/** Where media is asked for: pages of any origin may, because the token's own origins decide. */
const MEDIA = /^\/((api\/(whip|whep)|hls)(\/|\?|$)|v2\/distributions\/[^/?]+\/(hls|thumbnails)\/)/

export const isMediaPath = (url: string | undefined): boolean => url !== undefined && MEDIA.test(url)

const EXPOSED = 'Location, Link, ETag, Accept-Patch, WWW-Authenticate, Retry-After, X-Request-Id, X-Stream-Id'

/** The same, for those who write a whole head themselves. */
export const OPEN_HEAD: readonly string[] = [
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  EXPOSED,
]

/**
 * Lets pages of every origin read the answers of media paths, refusals and accidents included. Called before anything
 * else looks at the request, so that there is no answer without it: a page that cannot read a refusal cannot show it.
 */
export function openToPages(request: IncomingMessage, response: ServerResponse): void {
  if (!isMediaPath(request.url)) return
  response.setHeader('Access-Control-Allow-Origin', '*')
  response.setHeader('Access-Control-Expose-Headers', EXPOSED)
}

/** What a preflight is told (Fetch, section 3.3). It never needs a token: browsers send none with it. */
export const preflight = (methods: string): Record<string, string> => ({
  'Access-Control-Allow-Methods': methods,
  'Access-Control-Allow-Headers': 'Authorization, Content-Type, If-Match',
  'Access-Control-Max-Age': '86400',
})
