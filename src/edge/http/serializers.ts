import { createRequire } from 'node:module'
import type { FastifyServerOptions } from 'fastify'

type Compilers = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>
type ValidatorFactory = NonNullable<Compilers['buildValidator']>
type SerializerFactory = NonNullable<Compilers['buildSerializer']>

// What Fastify would load for itself at once, from where it would find it.
const requireOfFastify = createRequire(import.meta.resolve('fastify'))
const load = requireOfFastify as (name: string) => () => SerializerFactory

/**
 * Serialises answers by their schemas as Fastify does, but makes the code for each when the first such answer is sent:
 * for all of them at once it takes half of the start, and 15 MB, of which an idle server uses nothing. That all of them
 * can be compiled is tested (test/http/responseSchemas.test.ts).
 */
const buildSerializer: SerializerFactory = (schemas, options) => (route) => {
  let serialize: ((data: unknown) => string) | undefined
  // A factory keeps notes about what it has compiled; with one for each, the order of the answers does not matter.
  const compile = () => load('@fastify/fast-json-stringify-compiler')()(schemas, options)(route)
  return (data) => (serialize ??= compile())(data)
}

/** Bodies and queries are validated by the commands. Fastify's types know only validators with the marks of Ajv's. */
const buildValidator = (() => () => () => true) as unknown as ValidatorFactory

/** How schemas of routes are compiled; with these Fastify loads no compiler of its own. */
export const COMPILERS: Compilers = { buildSerializer, buildValidator }
