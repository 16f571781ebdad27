import { createRequire } from 'node:module'
import type { FastifyServerOptions } from 'fastify'

type Compilers = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>
type ValidatorFactory = NonNullable<Compilers['buildValidator']>
type SerializerFactory = NonNullable<Compilers['buildSerializer']>
type Route = Parameters<ReturnType<SerializerFactory>>[0]
type Serializer = ReturnType<ReturnType<SerializerFactory>>

// Fastify would load it at once, from this location.
const requireOfFastify = createRequire(import.meta.resolve('fastify'))
const load = requireOfFastify as (name: string) => () => SerializerFactory

/**
 * Serialises answers by their schemas as Fastify does, but compiles each schema at its first answer. Compiling all of
 * them at once takes half of the start-up time and 15 MB, and an idle server needs none of it. Routes have the same
 * refusals, which are compiled once for all of them: of 2,200 schemas 140 differ. A test proves that all of them compile
 * (test/http/responseSchemas.test.ts).
 */
const buildSerializer: SerializerFactory = (schemas, options) => {
  const compiled = new Map<string, Serializer>()
  const serializerOf = (route: Route): Serializer => {
    const key = JSON.stringify(route.schema)
    // A factory stores what it has compiled. With one factory for each schema, the order of the answers does not matter.
    const serialize = compiled.get(key) ?? load('@fastify/fast-json-stringify-compiler')()(schemas, options)(route)
    compiled.set(key, serialize)
    return serialize
  }
  return (route) => {
    let serialize: Serializer | undefined
    return (data) => (serialize ??= serializerOf(route))(data)
  }
}

/**
 * Does nothing: commands validate bodies and queries. Fastify's types accept only validators with Ajv's properties,
 * hence the cast.
 */
const buildValidator = (() => () => () => true) as unknown as ValidatorFactory

/** Compiles the schemas of routes; with these Fastify loads no compiler of its own. */
export const COMPILERS: Compilers = { buildSerializer, buildValidator }
