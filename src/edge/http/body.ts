import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { errorCodes, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { readJson } from '../../core/validation/json.ts'
import { readNoBody } from '../../core/validation/noBody.ts'
import { BadBody } from './problem.ts'

/**
 * JSON bodies. An empty body counts as "no body", because clients send a content type with it too: libraries that of a form, as
 * `curl -d ''` does. Any other body must be UTF-8 and JSON without duplicate properties.
 */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseJson(body as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
  app.addContentTypeParser('*', ({ is404, headers }, _payload, done) => {
    const isEmpty = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
    const isRefused = !isEmpty && !is404
    done(isRefused ? new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE(headers['content-type'] ?? '') : null, undefined)
  })
}

/**
 * Refuses a body on a route that describes none; otherwise Sluice would ignore it silently. For the hook that runs
 * before handlers. Routes without any schema check their own bodies.
 */
export function refuseUndescribed(request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  const { schema } = request.routeOptions
  if (request.body === undefined || schema === undefined || schema.body !== undefined) return done()
  const read = readNoBody(request.body)
  done(read.ok ? undefined : new BadBody('The request takes no body', read.error))
}

/** The most that Sluice reads of a body that it has refused. */
const DISCARDED_MAX_BYTES = 8 * 1024 * 1024
const DISCARDING_MAX_MS = 2000

/**
 * Reads the rest of a body that is too large or of another type, within bounds, before the answer goes out. A client or proxy that
 * still sends would get a reset connection instead of the answer (RFC 9112 section 9.6).
 */
export function discardRefusedBodies(app: FastifyInstance): void {
  app.addHook('onSend', async ({ raw }, { statusCode }) => {
    if (statusCode === 413 || statusCode === 415) await discard(raw)
  })
}

function discard(body: IncomingMessage): Promise<void> {
  if (body.readableEnded || body.destroyed) return Promise.resolve()
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, DISCARDING_MAX_MS)
  let left = DISCARDED_MAX_BYTES
  const count = (chunk: Buffer): void => {
    left -= chunk.length
    if (left < 0) resolve()
  }
  body.on('data', count).once('end', resolve).once('close', resolve)
  return promise.finally(() => {
    clearTimeout(timer)
    body.off('data', count).pause()
  })
}

/** @throws BadBody, with a message that is safe to show */
export function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined
  const text = body.toString()
  // Decoding replaces invalid bytes with U+FFFD, so text without U+FFFD needs no second check.
  if (text.includes('\uFFFD') && !isUtf8(body)) throw new BadBody('The body is not valid UTF-8')
  const read = readJson(text)
  if (read.ok) return read.value
  throw new BadBody(`The body ${read.error.message}`, read.error.errors)
}
