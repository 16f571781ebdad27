import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

const PAGE = new URL('../../../../web/demo/', import.meta.url)
const SCRIPTS = ['demo', 'panel', 'broadcast', 'watch', 'webrtc', 'figures', 'picture', 'words']

const TYPES = { html: 'text/html', css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' } as const

/** Path below `/demo`, file, type. */
const FILES: readonly (readonly [path: string, file: () => URL, type: keyof typeof TYPES])[] = [
  ['', () => new URL('index.html', PAGE), 'html'],
  ['/demo.css', () => new URL('demo.css', PAGE), 'css'],
  ['/icon.svg', () => new URL('icon.svg', PAGE), 'svg'],
  ...SCRIPTS.map((name) => [`/${name}.js`, () => new URL(`${name}.js`, PAGE), 'js'] as const),
  ['/hls.js', () => new URL(import.meta.resolve('hls.js/dist/hls.light.min.mjs')), 'js'],
]

/** Forbids inline code, framing, and other origins, except media from other nodes of a cluster. */
const policy = (media: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src 'self'${media}`,
    `media-src 'self' blob:${media}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/**
 * The demo page at `/demo` to broadcast and to watch. Sluice reads its files for each request and does not cache them.
 * With `hasNodes` the page may follow a redirect to another node.
 */
export function demoRoutes(app: FastifyInstance, hasNodes: boolean): void {
  const contentPolicy = policy(hasNodes ? ' http: https:' : '')
  for (const [path, file, type] of FILES) {
    app.get(`/demo${path}`, (request, reply) =>
      sendFile(request, reply.header('Content-Security-Policy', contentPolicy), file(), type),
    )
  }
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: URL,
  type: keyof typeof TYPES,
): Promise<FastifyReply> {
  const content = await readFile(file)
  const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
  reply.headers({
    ETag: etag,
    'Cache-Control': 'no-cache',
    'Permissions-Policy': 'camera=(self), microphone=(self), display-capture=(self)',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  })
  if (request.headers['if-none-match'] === etag) return reply.code(304).send()
  return reply.type(`${TYPES[type]}; charset=utf-8`).send(content)
}
