import type { FastifyRequest } from 'fastify'

/** Only a client that names CSV and not JSON gets it. */
export function wantsCsv({ headers: { accept = '' } }: FastifyRequest): boolean {
  return /\btext\/csv\b/i.test(accept) && !/\bapplication\/json\b/i.test(accept)
}
