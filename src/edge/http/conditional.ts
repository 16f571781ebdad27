import type { FastifyRequest } from 'fastify'

/**
 * Whether the client has this version already, by `If-None-Match` (RFC 9110 section 13.1.2): one of several tags, any (`*`), or a
 * weak one, which proxies make of a tag when they compress the answer.
 */
export function hasVersion({ headers }: Pick<FastifyRequest, 'headers'>, etag: string): boolean {
  const tags = (headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes(etag) || tags.includes('*')
}
