import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { rangeHeaders, readRange } from '../media/range.ts'

/** The size of a file, bytes; null: it is not here. */
export const sizeOf = (path: string): Promise<number | null> =>
  stat(path).then(
    (about) => about.size,
    () => null,
  )

/** The finished file of a recording. */
interface RecordingFile {
  readonly recordingId: string
  readonly path: string
  /** Bytes. */
  readonly size: number
}

/** Answers with the MP4 of a recording or a range of it. It never changes, so its id is its tag. */
export function sendRecordingFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { recordingId, path, size }: RecordingFile,
  disposition: 'inline' | 'attachment',
): FastifyReply {
  const etag = `"${recordingId}"`
  reply.headers({ ETag: etag, 'Cache-Control': 'private, no-cache' })
  if (request.headers['if-none-match'] === etag) return reply.code(304).send()
  // RFC 9110 section 13.1.5: a range of another file is a request for the whole.
  const isOfThis = (request.headers['if-range'] ?? etag) === etag
  const range = readRange(isOfThis ? request.headers.range : undefined, size)
  reply.headers(rangeHeaders(range, size)).type('video/mp4')
  reply.header('Content-Disposition', `${disposition}; filename="${recordingId}.mp4"`)
  if (range === 'unsatisfiable') return reply.code(416).send('')
  const { start, end } = range ?? { start: 0, end: size - 1 }
  // The framework reads what it is given also for HEAD.
  const body = request.method === 'HEAD' ? Readable.from([]) : createReadStream(path, { start, end })
  return reply
    .code(range === null ? 200 : 206)
    .header('Content-Length', end - start + 1)
    .send(body)
}
