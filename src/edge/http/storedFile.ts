import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hasVersion } from './conditional.ts'
import { rangeHeaders, readRange } from './media/range.ts'

/** A file that never changes under its tag. */
export interface StoredFile {
  readonly path: string
  /** Bytes. */
  readonly size: number
  readonly tag: string
  readonly type: string
  /** What browsers save it as. */
  readonly name: string
  readonly disposition: 'inline' | 'attachment'
}

/** Answers with a file or a range of it. */
export function sendStoredFile(request: FastifyRequest, reply: FastifyReply, file: StoredFile): FastifyReply {
  const { path, size, name } = file
  const etag = `"${file.tag}"`
  reply.headers({ ETag: etag, 'Cache-Control': 'private, no-cache' })
  if (hasVersion(request, etag)) return reply.code(304).send()
  // RFC 9110 section 13.1.5: a range of another file is a request for the whole.
  const isOfThis = (request.headers['if-range'] ?? etag) === etag
  const range = readRange(isOfThis ? request.headers.range : undefined, size)
  reply.headers(rangeHeaders(range, size)).type(file.type)
  reply.header('Content-Disposition', `${file.disposition}; filename="${name}"`)
  if (range === 'unsatisfiable') return reply.code(416).send('')
  const { start, end } = range ?? { start: 0, end: size - 1 }
  // The framework reads what it is given also for HEAD.
  const body = request.method === 'HEAD' ? Readable.from([]) : createReadStream(path, { start, end })
  return reply
    .code(range === null ? 200 : 206)
    .header('Content-Length', end - start + 1)
    .send(body)
}
