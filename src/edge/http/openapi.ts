import { Type, type TSchema } from 'typebox'
import type { FastifyInstance, FastifySchema } from 'fastify'
import swagger from '@fastify/swagger'
import { AccountDistribution, GeoCascade, UpdateAccountSecurity } from '../../core/accounts/requests.ts'
import { CreatePull, PullRecord, UpdatePull } from '../../core/pulls/schema.ts'
import { RequestThumbnail } from '../../core/recordings/thumbnailRequest.ts'
import { TOKEN_SCHEMAS } from '../../core/tokens/schema.ts'
import { CreateWebhook, UpdateWebhook, WebhookRecord } from '../../core/webhooks/schema.ts'
import { RedeliverMany } from '../../core/webhooks/deliveryQuery.ts'
import { WebhookTest } from '../../core/webhooks/requests.ts'
import { SUCCESS, withCodes } from './answerCodes.ts'

/** How a route describes itself. `data` gets the success envelope; `answer` is used unchanged. */
export interface RouteText {
  /** What generated clients call the operation: camelCase, verb first, unique in both documents. */
  operationId: string
  body?: TSchema
  querystring?: TSchema
  data?: TSchema
  answer?: TSchema
  headers?: Record<string, TSchema>
  deprecated?: boolean
  /** The route answers with CSV too, for `Accept: text/csv`. */
  csv?: true
  /** The route answers with a line of JSON for each of these, or with CSV. */
  lines?: TSchema
}

/** `{status: "success", data}`. */
const success = (data: TSchema): TSchema => Type.Object({ status: Type.Enum(['success']), data })

const Fail = Type.Object(
  { status: Type.Enum(['fail']), data: Type.Object({}, { additionalProperties: true }) },
  { description: 'The request was refused. `data.message` or a field says why; validation errors name every field.' },
)

const Failed = Type.Object(
  { status: Type.Enum(['error']), code: Type.Integer(), message: Type.String() },
  { description: 'Something is wrong on the server side.' },
)

/**
 * The Fastify options of a route. Its schema describes the route in the OpenAPI document and serialises its answers, so
 * that an undeclared field never leaves. Commands validate bodies and queries, because they report all errors at once.
 */
export function document(tag: string, summary: string, text: RouteText): { schema: FastifySchema } {
  const answer = text.answer ?? success(text.data ?? Type.Any())
  return {
    schema: {
      tags: [tag],
      summary,
      operationId: text.operationId,
      security: [{ apiSecret: [] }],
      ...(text.deprecated ? { deprecated: true } : {}),
      ...(text.body ? { body: text.body } : {}),
      ...(text.querystring ? { querystring: text.querystring } : {}),
      response: {
        [SUCCESS]: answerOf(text, answer),
        '4xx': Fail,
        '5xx': Failed,
      },
    },
  }
}

function answerOf({ headers, csv, lines }: RouteText, schema: TSchema): unknown {
  if (lines) {
    const table = Type.String({ description: 'A line for each, with headings (RFC 4180).' })
    const content = { 'application/x-jsonl': { schema: lines }, 'text/csv': { schema: table } }
    return { description: 'A line for each.', content }
  }
  if (!csv) return headers ? { ...schema, headers } : schema
  const table = Type.String({ description: 'A line for each sum, with headings (RFC 4180).' })
  return { description: 'The report.', content: { 'application/json': { schema }, 'text/csv': { schema: table } } }
}

const ACCOUNT_SCHEMAS = [UpdateAccountSecurity, AccountDistribution, GeoCascade]
const WEBHOOK_SCHEMAS = [CreateWebhook, UpdateWebhook, WebhookRecord, WebhookTest, RedeliverMany]

/** Collects the routes that are registered after it into an OpenAPI 3.1 document. */
export async function collectOpenApi(app: FastifyInstance, version: string): Promise<void> {
  refuseUnnamed(app)
  for (const schema of [
    ...TOKEN_SCHEMAS,
    ...ACCOUNT_SCHEMAS,
    RequestThumbnail,
    ...WEBHOOK_SCHEMAS,
    CreatePull,
    UpdatePull,
    PullRecord,
  ])
    app.addSchema(schema)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Sluice token API',
        version,
        description: 'Publish and subscribe tokens, access rules, the access decision, and webhooks.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      components: {
        securitySchemes: {
          apiSecret: {
            type: 'http',
            scheme: 'bearer',
            description: 'An API secret: `sluice secret create --name NAME`',
          },
        },
      },
    },
    hideUntagged: true,
    // The channels interface and the dashboard have documents of their own.
    transform: ({ schema, url }) => ({ schema: isOfOthers(url) ? { ...schema, hide: true } : withCodes(schema), url }),
    refResolver: {
      buildLocalReference: (json, _base, _fragment, i) => (typeof json.$id === 'string' ? json.$id : `def-${i}`),
    },
  })
}

/** A described route needs a name for generated clients. The names of both documents differ (test/http/openapi.test.ts). */
function refuseUnnamed(app: FastifyInstance): void {
  app.addHook('onRoute', ({ method, url, schema }) => {
    if (schema?.tags !== undefined && !schema.operationId)
      throw new Error(`${[method].flat().join()} ${url} has no operationId`)
  })
}

const isOfOthers = (url: string): boolean => url.startsWith('/v2/') || url.startsWith('/dashboard/')
