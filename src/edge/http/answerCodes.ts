import type { FastifySchema } from 'fastify'
import type { TSchema } from 'typebox'

/**
 * How a route describes its successful answers. Objects with keys like 200 or 429 have room for all smaller numbers, 3 to
 * 5 kB, and Fastify keeps four for each of 200 routes. Documents get the codes from `withCodes`.
 */
export const SUCCESS = '2xx'

/** The schema of a route's successful answers. Undefined: it has none. */
export const successOf = (schema: FastifySchema | undefined): unknown => answersOf(schema)?.[SUCCESS]

/** The schema for a document: with 204 for an answer without a body and 200 for others. `more`: answers of all routes. */
export function withCodes<T extends FastifySchema>(schema: T, more: object = {}): T {
  const { [SUCCESS]: success, ...others } = answersOf(schema) ?? {}
  if (success === undefined) return schema
  const code = (success as TSchema & { type?: string }).type === 'null' ? 204 : 200
  return { ...schema, response: { [code]: success, ...more, ...others } }
}

const answersOf = (schema: FastifySchema | undefined): Record<string, unknown> | undefined =>
  schema?.response as Record<string, unknown> | undefined
