import type { FastifyInstance } from 'fastify'
import { sendFile, type StaticType } from '../staticFile.ts'

const PAGE = new URL('../../../../web/demo/', import.meta.url)
const SCRIPTS = ['demo', 'panel', 'broadcast', 'watch', 'webrtc', 'figures', 'picture', 'words']

/** Path below `/demo`, file, type. */
const FILES: readonly (readonly [path: string, file: () => URL, type: StaticType])[] = [
  ['', () => new URL('index.html', PAGE), 'html'],
  ['/demo.css', () => new URL('demo.css', PAGE), 'css'],
  ['/icon.svg', () => new URL('icon.svg', PAGE), 'svg'],
  ...SCRIPTS.map((name) => [`/${name}.js`, () => new URL(`${name}.js`, PAGE), 'js'] as const),
  ['/hls.js', () => new URL(import.meta.resolve('hls.js/dist/hls.light.min.mjs')), 'js'],
]

/** Nothing from elsewhere (but media of other nodes, where there are any), nothing inline, in nobody's frame. */
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
 * A page to broadcast and to watch with: `/demo`. Its files are read when they are asked for, and not kept. With
 * `hasNodes` it may follow where this node sends its viewers.
 */
export function demoRoutes(app: FastifyInstance, hasNodes: boolean): void {
  const headers = {
    'Content-Security-Policy': policy(hasNodes ? ' http: https:' : ''),
    'Permissions-Policy': 'camera=(self), microphone=(self), display-capture=(self)',
  }
  for (const [path, file, type] of FILES) {
    app.get(`/demo${path}`, (request, reply) => sendFile(request, reply.headers(headers), file(), type))
  }
}
