import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { hasVersion } from './conditional.ts'
import { codingFor } from './contentEncoding.ts'
import { sharesBody } from './unsent.ts'
import { storedTextAt, type StoredText, textOnce } from './storedText.ts'

const TYPES = { html: 'text/html', css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' } as const

export type StaticType = keyof typeof TYPES

/** Answers with a file of ours, or with 304 if the browser has it. @throws if it is missing */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: URL,
  type: StaticType,
): Promise<FastifyReply> {
  const page = type === 'html' ? withoutSlash(request) : null
  if (page !== null) return reply.redirect(page, 302)
  const text = await storedTextAt(file)
  if (text === null) throw new Error(`${file.pathname} is missing in this installation`)
  reply.headers({ 'Cache-Control': 'no-cache', 'Referrer-Policy': 'no-referrer', 'X-Content-Type-Options': 'nosniff' })
  return sendText(request, reply, text, `${TYPES[type]}; charset=utf-8`)
}

/** The path below the folder of a route `/folder/*`; null for `/folder` itself, whose relative addresses would lead elsewhere. */
export function pathBelow({ url, params }: FastifyRequest): string | null {
  const [path = ''] = url.split('?', 1)
  if (!path.slice(1).includes('/')) return null
  return (params as { '*'?: string })['*'] ?? ''
}

/** Answers in the coding that the client takes, or with 304 if it has that. */
export async function sendText(
  request: FastifyRequest,
  reply: FastifyReply,
  text: StoredText,
  type: string,
): Promise<FastifyReply> {
  const coding = codingFor(text.codings, request.headers['accept-encoding'])
  const etag = text.etag(coding)
  reply.headers({ ETag: etag, Vary: 'Accept-Encoding' })
  if (hasVersion(request, etag)) return reply.code(304).send()
  const content = await text.in(coding)
  if (coding !== 'identity') reply.header('Content-Encoding', coding)
  sharesBody(reply.raw)
  return reply.type(type).send(content)
}

/**
 * Serves an OpenAPI document. To make it costs more than a hundred other answers, and it never changes.
 */
export function serveDocument(app: FastifyInstance, path: string, make: () => unknown): void {
  const text = textOnce(() => JSON.stringify(make()))
  app.get(path, (request, reply) =>
    sendText(request, reply.header('Cache-Control', 'no-cache'), text(), 'application/json; charset=utf-8'),
  )
}

/**
 * The relative address of a page without the slash at its end; null: it has none. Pages name their files by relative
 * addresses, so that a proxy may put a prefix in front.
 */
export function withoutSlash({ url }: FastifyRequest): string | null {
  const [, name, query = ''] = /^[^?]*\/([^/?]+)\/(\?.*)?$/.exec(url) ?? []
  return name === undefined ? null : `../${name}${query}`
}
