import type { FastifyInstance, FastifyRequest } from 'fastify'
import { UnsupportedEncoding } from './problem.ts'
import type { Coding } from './storedText.ts'

/**
 * Refuses encoded bodies, after authentication (RFC 9110 section 15.5.16). `Accept-Encoding` in the answer names what
 * Sluice accepts (section 12.5.3).
 */
export function refuseEncodedBodies(app: FastifyInstance): void {
  app.addHook('preParsing', (request, reply, _payload, done) => {
    const { 'content-encoding': coding, 'content-length': length, 'transfer-encoding': transfer } = request.headers
    const hasBody = transfer !== undefined || Number(length) > 0
    if (coding === undefined || coding.trim().toLowerCase() === 'identity' || !hasBody) return done()
    reply.header('Accept-Encoding', 'identity')
    return done(new UnsupportedEncoding(coding))
  })
}

/** Whether the client takes an answer in gzip (RFC 9110 section 12.5.3). */
export const acceptsGzip = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(headers['accept-encoding'] ?? '')

/** The first of `codings` that an `Accept-Encoding` allows (RFC 9110 section 12.5.3). */
export function codingFor(codings: readonly Coding[], accepted: string | undefined): Coding {
  const allowed = (accepted ?? '').split(',').map((part) =>
    part
      .trim()
      .toLowerCase()
      .split(/(?<!\s)\s*;\s*q\s*=\s*/),
  )
  const allows = (name: string) => allowed.some(([coding, q = '1']) => coding === name && Number(q) > 0)
  return codings.find(allows) ?? 'identity'
}
