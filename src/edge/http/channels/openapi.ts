import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { CHANNEL_ERRORS } from '../../../core/channels/errors.ts'
import { SUCCESS, withCodes } from '../answerCodes.ts'

const Problem = Type.Object(
  {
    code: Type.Enum(Object.keys(CHANNEL_ERRORS)),
    message: Type.String(),
    details: Type.Optional(
      Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), {
        description: 'What is wrong with each field.',
      }),
    ),
  },
  { $id: 'Problem', description: 'The request was refused, or something is wrong on the server side (5xx).' },
)

const TOO_MANY = {
  429: {
    description: 'Too many requests of this credential, or too many wrong ones of this address.',
    headers: { 'Retry-After': { type: 'integer', description: 'Seconds.' } },
    content: { 'application/json': { schema: Problem } },
  },
}

/** How a route describes itself. `answer` is the whole body of a 200; without it the route answers 204. */
export interface ChannelRouteText {
  /** What generated clients call the operation: camelCase, verb first, unique in both documents. */
  operationId: string
  body?: TSchema
  /** The media types of the body; absent: JSON. */
  consumes?: readonly string[]
  querystring?: TSchema
  answer?: TSchema
  /** Set when a 204 carries `X-Service-Warning`. */
  warns?: string
}

/**
 * The Fastify options of a route. Its schema describes the route in the OpenAPI document and serialises its answers, so
 * that an undeclared field never leaves. Commands validate bodies and queries, because they report all errors at once.
 */
export function describe(tag: string, summary: string, text: ChannelRouteText): { schema: FastifySchema } {
  return {
    schema: {
      tags: [tag],
      summary,
      operationId: text.operationId,
      security: [{ credential: [] }],
      ...(text.body ? { body: text.body } : {}),
      ...(text.consumes ? { consumes: [...text.consumes] } : {}),
      ...(text.querystring ? { querystring: text.querystring } : {}),
      response: { [SUCCESS]: text.answer ?? done(text.warns), '4xx': Problem, '5xx': Problem },
    },
  }
}

const done = (warns?: string) =>
  warns === undefined
    ? Type.Null({ description: 'Done.' })
    : Type.Null({ description: 'Done.', headers: { 'X-Service-Warning': { type: 'string', description: warns } } })

declare module 'fastify' {
  interface FastifyInstance {
    /** The OpenAPI document of the channels interface. */
    channelsDocument(): ChannelsDocument
  }
}

interface ChannelsDocument {
  paths?: Record<string, Record<string, { responses?: Record<string, Described> }>>
  components?: { schemas?: Record<string, unknown> }
}

interface Described {
  content?: Record<string, { schema?: unknown }>
}

/** Collects the routes that are registered after it into an OpenAPI 3.1 document of their own. */
export async function collectChannelsOpenApi(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    decorator: 'channelsDocument',
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Sluice channels API',
        version,
        description: 'Channels with their ingests, engines and distributions.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      components: {
        securitySchemes: {
          credential: {
            type: 'http',
            scheme: 'basic',
            description: '`key:secret`, from `sluice credential create --name NAME`',
          },
        },
      },
    },
    hideUntagged: true,
    transform: ({ schema, url }) => ({ schema: withCodes(schema, TOO_MANY), url }),
    refResolver: {
      buildLocalReference: (json, _base, _fragment, i) => (typeof json.$id === 'string' ? json.$id : `def-${i}`),
    },
  })
}

/** The document without the schemas of the token interface, which runs in the same process. */
export function channelsOpenApi(app: FastifyInstance): unknown {
  const whole = nameProblems(structuredClone(app.channelsDocument()))
  const text = JSON.stringify({ ...whole, components: { ...whole.components, schemas: {} } })
  const schemas = whole.components?.schemas ?? {}
  return { ...whole, components: { ...whole.components, schemas: reachable(text, schemas) } }
}

/** Refusals look the same on every route, so the document describes them once. */
function nameProblems(document: ChannelsDocument): ChannelsDocument {
  const answers = Object.values(document.paths ?? {}).flatMap((path) => Object.values(path))
  for (const [status, { content }] of answers.flatMap(({ responses = {} }) => Object.entries(responses))) {
    const json = content?.['application/json']
    if (json && !status.startsWith('2')) json.schema = { $ref: '#/components/schemas/Problem' }
  }
  const { $id: _, ...schema } = Problem as typeof Problem & { $id: string }
  return {
    ...document,
    components: { ...document.components, schemas: { ...document.components?.schemas, Problem: schema } },
  }
}

/** The schemas that `text` references, directly or through other schemas. */
function reachable(text: string, schemas: Record<string, unknown>): Record<string, unknown> {
  const reached = new Map<string, unknown>()
  const queue = [text]
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    for (const [, name = ''] of next.matchAll(/"#\/components\/schemas\/([^"/]+)"/g)) {
      if (reached.has(name) || !Object.hasOwn(schemas, name)) continue
      reached.set(name, schemas[name])
      queue.push(JSON.stringify(schemas[name]))
    }
  }
  return Object.fromEntries([...reached].sort(([a], [b]) => (a < b ? -1 : 1)))
}
