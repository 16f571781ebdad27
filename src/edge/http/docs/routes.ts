import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { nothingThere } from '../pathId.ts'
import { sendFile, sendText, serveDocument, withoutSlash } from '../staticFile.ts'
import { type StoredText, textOnce } from '../storedText.ts'
import { readDocument } from './document.ts'
import { PAGE_HEADERS } from './headers.ts'
import type { Html } from './html.ts'
import { operationText } from './operationPage.ts'
import { overviewText } from './overviewPage.ts'
import { type Part, referencePage } from './page.ts'
import { postmanCollection } from './postman.ts'

const FILES = new URL('../../../../web/api/', import.meta.url)

export interface ApiPagesOptions {
  /** The OpenAPI documents. They are complete when the first request comes. */
  readonly tokens: () => unknown
  readonly channels: () => unknown
  /** Operations can be tried with a session of the dashboard. */
  readonly hasDashboard: boolean
}

type Pages = ReadonlyMap<string, () => StoredText>

/**
 * The API reference, made from the OpenAPI documents at the first request: an overview of each interface at `/api/docs` and
 * `/api/docs/channels`, a page for each operation at `/api/docs/OPERATION`, and everything as a Postman collection.
 */
export function apiPages(app: FastifyInstance, options: ApiPagesOptions): void {
  let parts: readonly Part[] | null = null
  let pages: Pages | null = null
  const partsOnce = (): readonly Part[] => (parts ??= partsOf(options))
  const send = (request: FastifyRequest, reply: FastifyReply, page: string): FastifyReply | Promise<FastifyReply> => {
    const plain = withoutSlash(request)
    if (plain !== null) return reply.redirect(plain, 302)
    const text = (pages ??= pagesOf(partsOnce(), options.hasDashboard)).get(page)
    return text
      ? sendText(request, reply.headers(PAGE_HEADERS), text(), 'text/html; charset=utf-8')
      : nothingThere(reply)
  }
  app.get('/api/docs', (request, reply) => send(request, reply, FIRST))
  app.get<{ Params: { page: string } }>('/api/docs/:page', (request, reply) =>
    send(request, reply, request.params.page),
  )
  serveDocument(app, '/api/docs/postman.json', () => postmanCollection(partsOnce().map(({ document }) => document)))
  for (const type of ['css', 'js'] as const) {
    const file = `reference.${type}`
    app.get(`/api/docs/${file}`, (request, reply) => sendFile(request, reply, new URL(file, FILES), type))
  }
}

/** The page at `/api/docs` itself, relative to the others. */
const FIRST = '../docs'

const partsOf = ({ tokens, channels }: ApiPagesOptions): readonly Part[] => [
  { name: 'Token API', home: FIRST, source: '../openapi.json', document: readDocument(tokens()) },
  { name: 'Channel API', home: 'channels', source: '../../v2/openapi.json', document: readDocument(channels()) },
]

/** By their relative addresses. */
function pagesOf(parts: readonly Part[], hasDashboard: boolean): Pages {
  const overviews = parts.map((part) => {
    const up = part.home === FIRST ? './docs/' : './'
    const text = { title: part.name, operation: null, up } as const
    return [part.home, textOnce(() => referencePage(part, parts, { ...text, main: overviewText(part, up) }))] as const
  })
  const operations = parts.flatMap((part) =>
    part.document.operations.map((operation) => {
      const text = { title: operation.summary, operation, up: './' } as const
      const main = (): Html => operationText(operation, part.document, hasDashboard)
      return [operation.id, textOnce(() => referencePage(part, parts, { ...text, main: main() }))] as const
    }),
  )
  return new Map([...overviews, ...operations])
}
