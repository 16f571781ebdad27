import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { withCodes } from '../answerCodes.ts'
import { type RouteText, document } from '../openapi.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The OpenAPI document of the dashboard's own operations. */
    dashboardDocument(): { paths?: Record<string, unknown> }
  }
}

/** Strangers send them. The answer of a browser with a passkey has up to four kilobytes, and reading a megabyte takes a tenth of a second. */
const OPEN_BODY_MAX_BYTES = 32_768

/**
 * The Fastify options of a route of the dashboard alone, as `document` makes them.
 * @param operationId unique over all operations of the dashboard
 */
export function operation(
  operationId: string,
  tag: string,
  summary: string,
  text: Omit<RouteText, 'operationId'> & { isOpen?: boolean },
): { schema: FastifySchema; bodyLimit?: number } {
  const { schema } = document(tag, summary, { ...text, operationId })
  if (text.isOpen !== true) return { schema: { ...schema, security: [{ session: [] }] } }
  return { schema: { ...schema, security: [] }, bodyLimit: OPEN_BODY_MAX_BYTES }
}

/** Collects the routes that are registered after it into an OpenAPI 3.1 document of their own. */
export async function collectDashboardOpenApi(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    decorator: 'dashboardDocument',
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Sluice dashboard API',
        version,
        description:
          'What the dashboard alone can do: sign in, users, secrets, audit log. Every operation of the other two ' +
          'interfaces is here too, under `/dashboard/api/…` and `/dashboard/api/v2/…`, with the session instead of a ' +
          'secret. Every method but GET needs the header `X-Sluice-Dashboard: 1`.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      components: {
        securitySchemes: {
          session: { type: 'apiKey', in: 'cookie', name: 'sluice_session', description: 'Set by signing in.' },
        },
      },
    },
    hideUntagged: true,
    transform: ({ schema, url }) => ({ schema: withCodes(schema), url }),
    refResolver: {
      buildLocalReference: (json, _base, _fragment, i) => (typeof json.$id === 'string' ? json.$id : `def-${i}`),
    },
  })
}

/** The document without the schemas of the other interfaces, which run in the same process. */
export function dashboardOpenApi(app: FastifyInstance): unknown {
  const { components, ...whole } = structuredClone(app.dashboardDocument()) as { components?: Record<string, unknown> }
  return { ...whole, components: { ...components, schemas: {} } }
}
