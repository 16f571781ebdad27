import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isObject } from '../../../base/objects.ts'
import { successOf } from '../answerCodes.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The schema of the answer for an admin: with secrets. */
    answerForAdmins?: object
  }
}

const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Leaves the secrets out of the answers that a viewer gets from the routes that are registered after it. A field whose
 * schema says `format: password` is a secret. Viewers get their answers through a schema that does not have it, so that
 * no handler can forget it.
 */
export function hideSecretsFromViewers(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const answer = successOf(route.schema)
    if (isObject(answer) && answer['type'] !== 'null') route.config = { ...route.config, answerForAdmins: answer }
  })
  const answersForViewers = new WeakMap<object, object>()
  app.addHook('preHandler', (request: FastifyRequest, reply: FastifyReply, done) => {
    const schema = request.routeOptions.config.answerForAdmins
    if (request.user?.role !== 'admin' && schema !== undefined) {
      const answer = answersForViewers.get(schema) ?? (withoutSecrets(schema) as object)
      answersForViewers.set(schema, answer)
      serializeWith(reply, answer)
    }
    done()
  })
}

/** Refusals set a serializer of their own after this one. */
function serializeWith(reply: FastifyReply, schema: object): void {
  reply.serializer((payload: unknown) => {
    // A file such as CSV, which has no schema for admins either.
    if (typeof payload === 'string' && !isJson(reply)) return payload
    reply.type(JSON_TYPE)
    return reply.compileSerializationSchema(schema as Record<string, unknown>)(payload as Record<string, unknown>)
  })
}

const isJson = (reply: FastifyReply): boolean => String(reply.getHeader('content-type') ?? 'json').includes('json')

/** A schema without the properties that are secrets. It loses its name, because it is not the schema of that name. */
function withoutSecrets(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutSecrets)
  if (!isObject(schema)) return schema
  const { $id: _name, properties, required, ...rest } = schema
  const others = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, withoutSecrets(value)]))
  if (!isObject(properties)) return required === undefined ? others : { ...others, required }
  const open = Object.entries(properties).filter(([, property]) => !isSecret(property))
  const names = new Set(open.map(([name]) => name))
  return {
    ...others,
    properties: Object.fromEntries(open.map(([name, property]) => [name, withoutSecrets(property)])),
    required: Array.isArray(required) ? required.filter((name: string) => names.has(name)) : [],
  }
}

const isSecret = (schema: unknown): boolean => isObject(schema) && schema['format'] === 'password'
