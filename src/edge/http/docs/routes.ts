import type { FastifyInstance } from 'fastify'
import { sendFile } from '../staticFile.ts'

const FILES = new URL('../../../../web/api/', import.meta.url)

/** Path, file, type. Redoc is stored in Brotli. */
const SERVED = [
  ['/api/docs', 'tokens.html', 'html'],
  ['/api/docs/channels', 'channels.html', 'html'],
  ['/api/docs/page.css', 'page.css', 'css'],
  ['/api/docs/redoc.js', 'redoc.js', 'js'],
] as const

/**
 * Redoc adds two style elements: an empty one, which it fills rule by rule, and one for its scroll bar. The policy
 * allows these two by their hashes and no other inline style. It also blocks the one image that Redoc would load from
 * another host, its logo.
 */
const INLINE_STYLES = [
  "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='",
  "'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc='",
]

/** Everything comes from this server. The search index of Redoc runs in a worker that is made of a blob. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src 'self' ${INLINE_STYLES.join(' ')}`,
  "img-src 'self' data:",
  "connect-src 'self'",
  'worker-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The two OpenAPI documents as pages: `/api/docs` and `/api/docs/channels`. */
export function apiPages(app: FastifyInstance): void {
  for (const [path, file, type] of SERVED) {
    app.get(path, (request, reply) => {
      reply.header('Content-Security-Policy', POLICY)
      return sendFile(request, reply, new URL(file, FILES), type)
    })
  }
}
