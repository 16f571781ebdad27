import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'

const TYPES = { html: 'text/html', css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' } as const

export type StaticType = keyof typeof TYPES

/** Answers with a file of ours, or with 304 if the browser has it. The file is read for each request and not cached. */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: URL,
  type: StaticType,
): Promise<FastifyReply> {
  const page = type === 'html' ? withoutSlash(request) : null
  if (page !== null) return reply.redirect(page, 302)
  const content = await readFile(file)
  const etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`
  reply.headers({
    ETag: etag,
    'Cache-Control': 'no-cache',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  })
  if (request.headers['if-none-match'] === etag) return reply.code(304).send()
  return reply.type(`${TYPES[type]}; charset=utf-8`).send(content)
}

/**
 * The relative address of a page without the slash at its end; null: it has none. Pages name their files by relative
 * addresses, so that a proxy may put a prefix in front.
 */
function withoutSlash({ url }: FastifyRequest): string | null {
  const [, name, query = ''] = /^[^?]*\/([^/?]+)\/(\?.*)?$/.exec(url) ?? []
  return name === undefined ? null : `../${name}${query}`
}
