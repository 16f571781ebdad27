import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { mediaSources, pagePolicy } from '../pagePolicy.ts'
import { nothingThere } from '../pathId.ts'
import { pathBelow, sendText } from '../staticFile.ts'
import { type BuiltFile, type BuiltFiles, readBuild } from './fileStore.ts'

/** Where `npm run build:dashboard` puts the pages. */
const BUILD = fileURLToPath(new URL('../../../../build/dashboard', import.meta.url))

const UNBUILT =
  'The dashboard is not built on this machine. Run `npm run build:dashboard` in the folder of Sluice, then load this page again.\n'

/** A page can be this deep below `/dashboard/`. */
const DEPTH_MAX = 8

const YEAR_SECONDS = 31_536_000

/** Forbids inline code, code from text, framing, forms and other origins, except media of other nodes of a cluster. */
const policy = (hasNodes: boolean): string =>
  pagePolicy(["script-src 'self'", "style-src 'self'", "img-src 'self' blob:", ...mediaSources(hasNodes)])

export interface FileOptions {
  /** Whether media of a stream may be at another node, to which this one redirects. */
  readonly hasNodes: boolean
  /** The folder of the build. */
  readonly folder?: string
}

/** The pages of the dashboard, at `/dashboard/`. `/` leads there. */
export function dashboardFiles(app: FastifyInstance, { hasNodes, folder = BUILD }: FileOptions): void {
  let files = readBuild(folder)
  const headers = {
    'Content-Security-Policy': policy(hasNodes),
    'Permissions-Policy': 'camera=(self), microphone=(self), display-capture=(self)',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  }
  const serve = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const path = pathBelow(request)
    if (path === null) return reply.redirect('dashboard/', 302)
    if (path === 'api' || path.startsWith('api/')) return nothingThere(reply)
    files ??= readBuild(folder)
    reply.headers(headers)
    if (files === null) return reply.code(503).type('text/plain; charset=utf-8').send(UNBUILT)
    return sendBuilt(request, reply, files, path)
  }
  // Relative, so that a proxy may put a prefix in front.
  app.get('/', (_request, reply) => reply.redirect('dashboard/', 302))
  app.get('/dashboard', serve)
  app.get('/dashboard/*', { config: { takesRest: true } }, serve)
}

async function sendBuilt(
  request: FastifyRequest,
  reply: FastifyReply,
  files: BuiltFiles,
  path: string,
): Promise<FastifyReply> {
  const file = files.get(path === '' ? 'index.html' : path)
  if (file) return sendFile(request, reply, file, path.startsWith('assets/'))
  const index = files.get('index.html')
  const wantsPage = request.headers.accept?.includes('text/html') === true
  const depth = path.split('/').length - 1
  return index && wantsPage && depth <= DEPTH_MAX ? sendPage(reply, index, depth) : nothingThere(reply)
}

/** The names of assets contain a hash of their content, so browsers keep them. */
function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { text, type }: BuiltFile,
  isAsset: boolean,
): Promise<FastifyReply> {
  reply.header('Cache-Control', isAsset ? `public, max-age=${YEAR_SECONDS}, immutable` : 'no-cache')
  return sendText(request, reply, text, type)
}

/** The one page, for a path that its script reads. Its relative addresses lead up to the folder of the dashboard. */
async function sendPage(reply: FastifyReply, { text, type }: BuiltFile, depth: number): Promise<FastifyReply> {
  const up = depth === 0 ? './' : '../'.repeat(depth)
  const page = (await text.in('identity')).toString().replaceAll('="./', `="${up}`)
  return reply.header('Cache-Control', 'no-cache').type(type).send(page)
}
