import { createRequire } from 'node:module'
import type { FastifyServerOptions } from 'fastify'

type Compilers = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>
type ValidatorFactory = NonNullable<Compilers['buildValidator']>
type SerializerFactory = NonNullable<Compilers['buildSerializer']>

// Fastify would load it at once, from this location.
const requireOfFastify = createRequire(import.meta.resolve('fastify'))
const load = requireOfFastify as (name: string) => () => SerializerFactory

/**
 * Serialises answers by their schemas as Fastify does, but compiles each schema at its first answer. Compiling all of
 * them at once takes half of the start-up time and 15 MB, and an idle server needs none of it. A test proves that all
 * of them compile (test/http/responseSchemas.test.ts).
 */
const buildSerializer: SerializerFactory = (schemas, options) => (route) => {
  let serialize: ((data: unknown) => string) | undefined
  // A factory stores what it has compiled. With one factory for each schema, the order of the answers does not matter.
  const compile = () => load('@fastify/fast-json-stringify-compiler')()(schemas, options)(route)
  return (data) => (serialize ??= compile())(data)
}

/**
 * Does nothing: commands validate bodies and queries. Fastify's types accept only validators with Ajv's properties,
 * hence the cast.
 */
const buildValidator = (() => () => () => true) as unknown as ValidatorFactory

/** Compiles the schemas of routes; with these Fastify loads no compiler of its own. */
export const COMPILERS: Compilers = { buildSerializer, buildValidator }
