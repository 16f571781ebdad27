import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type BuiltFiles, readBuild } from '../dashboard/fileStore.ts'
import { nothingThere } from '../pathId.ts'
import { pathBelow, sendText } from '../staticFile.ts'
import { PAGE_HEADERS } from './headers.ts'

/** Where `npm run build:docs` puts the pages. */
const BUILD = fileURLToPath(new URL('../../../../build/docs', import.meta.url))

const UNBUILT =
  'The documentation is not built on this machine. Run `npm run build:docs` in the folder of Sluice, then load this page again.\n'

/** The documentation of this version, at `/docs/`. */
export function documentPages(app: FastifyInstance): void {
  let files: BuiltFiles | null = null
  const serve = (request: FastifyRequest, reply: FastifyReply): FastifyReply | Promise<FastifyReply> => {
    const path = pathBelow(request)
    if (path === null) return reply.redirect('docs/', 302)
    files ??= readBuild(BUILD)
    reply.headers(PAGE_HEADERS)
    if (files === null) return reply.code(503).type('text/plain; charset=utf-8').send(UNBUILT)
    const file = files.get(path === '' ? 'index.html' : path) ?? files.get(`${path}.html`)
    return file ? sendText(request, reply, file.text, file.type) : nothingThere(reply)
  }
  app.get('/docs', serve)
  app.get('/docs/*', { config: { takesRest: true } }, serve)
}
