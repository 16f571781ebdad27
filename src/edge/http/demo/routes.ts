import type { FastifyInstance } from 'fastify'
import { mediaSources, pagePolicy } from '../pagePolicy.ts'
import { sendFile, type StaticType } from '../staticFile.ts'

const PAGE = new URL('../../../../web/demo/', import.meta.url)
const SCRIPTS = ['demo', 'lead', 'panel', 'broadcast', 'watch', 'webrtc', 'figures', 'picture', 'words']

/** Path below `/demo`, file, type. */
const FILES: readonly (readonly [path: string, file: () => URL, type: StaticType])[] = [
  ['', () => new URL('index.html', PAGE), 'html'],
  ['/demo.css', () => new URL('demo.css', PAGE), 'css'],
  ['/icon.svg', () => new URL('icon.svg', PAGE), 'svg'],
  ...SCRIPTS.map((name) => [`/${name}.js`, () => new URL(`${name}.js`, PAGE), 'js'] as const),
  ['/hls.js', () => new URL(import.meta.resolve('hls.js/dist/hls.light.min.mjs')), 'js'],
]

/** Forbids inline code, framing, and other origins, except media from other nodes of a cluster. */
const policy = (hasNodes: boolean): string =>
  pagePolicy(["script-src 'self'", "style-src 'self'", "img-src 'self'", ...mediaSources(hasNodes)])

/**
 * The demo page at `/demo`, to broadcast and to watch with a token alone. It leads users of the dashboard there.
 * Sluice reads a file again when it has changed.
 * With `hasNodes` the page may follow a redirect to another node.
 */
export function demoRoutes(app: FastifyInstance, hasNodes: boolean): void {
  const headers = {
    'Content-Security-Policy': policy(hasNodes),
    'Permissions-Policy': 'camera=(self), microphone=(self), display-capture=(self)',
  }
  for (const [path, file, type] of FILES) {
    app.get(`/demo${path}`, (request, reply) => sendFile(request, reply.headers(headers), file(), type))
  }
}
