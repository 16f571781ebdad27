import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Media paths. Pages of any origin may read them, because the token's own list of origins decides. */
const MEDIA = /^\/((api\/(whip|whep)|hls|recordings)(\/|\?|$)|v2\/distributions\/[^/?]+\/(hls|thumbnails)\/)/

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
  // For pages that are cross-origin isolated, such as those with ffmpeg.wasm.
  'Cross-Origin-Resource-Policy',
  'cross-origin',
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
  response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin')
  response.setHeader('Referrer-Policy', 'no-referrer')
}

const USUAL = 'Authorization, Content-Type, If-Match'

/** The name of a header (RFC 9110 section 5.1). */
const NAME = /^[\w!#$%&'*+.^`|~-]{1,64}$/
const NAMES_MAX = 40

const namesIn = (list: string): string[] =>
  list
    .split(',', NAMES_MAX)
    .map((name) => name.trim())
    .filter((name) => NAME.test(name))

/**
 * Answers a preflight (Fetch, section 3.3). It never needs a token: browsers send none with it. A page may send any
 * headers: players add those of CMCD, and tracing adds its own to every request of a page. `*` would not cover
 * `Authorization`, and some browsers do not know it.
 */
export function sendPreflight({ headers }: FastifyRequest, reply: FastifyReply, methods: string): FastifyReply {
  const names = namesIn(headers['access-control-request-headers'] ?? '')
  return reply
    .code(204)
    .headers({
      'Access-Control-Allow-Methods': methods,
      'Access-Control-Allow-Headers': [USUAL, ...names].join(', '),
      'Access-Control-Max-Age': '86400',
      Vary: 'Access-Control-Request-Headers',
    })
    .send()
}
