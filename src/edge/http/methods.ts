import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { failure, notFound } from '../../core/errors.ts'
import { sendNotFoundPage, wantsPage } from './notFoundPage.ts'
import { sendFailure } from './problem.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route for what no other route of its folder takes: it does not say that something is there. */
    takesRest?: boolean
  }
}

/**
 * Remembers every route and answers requests that match none: 405 with `Allow` when the path exists, else 404. Returns
 * a function that lists the methods of a path, for interfaces with answers of their own.
 */
export function answerUnknownRoutes(app: FastifyInstance): (path: string) => string[] {
  const routes: { pattern: RegExp; methods: string[] }[] = []
  app.addHook('onRoute', (route) => {
    if (route.config?.takesRest === true) return
    const pattern = new RegExp(
      `^${route.url
        .replace(/^((?:\/dashboard)?\/api\/.*):(?:token|webhook|pull|user|secret|credential)Id/, '$1-?\\d+')
        .replace(/:[A-Za-z]+/g, '[^/]+')
        .replace('*', '.*')
        .replace(/\/$/, '')}/?$`,
    )
    routes.push({ pattern, methods: [route.method].flat() })
  })
  const methodsAt = (path: string): string[] =>
    [...new Set(routes.filter((r) => r.pattern.test(path)).flatMap((r) => r.methods))].sort()
  app.setNotFoundHandler((request: FastifyRequest, reply: FastifyReply) => {
    const path = request.url.split('?', 1)[0] ?? '/'
    const methods = methodsAt(path)
    // The route of this method has found nothing.
    const isThere = methods.length > 0 && !methods.includes(request.method)
    if (!isThere && wantsPage(request)) return sendNotFoundPage(reply, path)
    if (!isThere) return sendFailure(reply, notFound('message', `Nothing is at ${path.slice(0, 128)}`))
    const allow = methods.join(', ')
    reply.header('Allow', allow)
    return sendFailure(reply, failure('method_not_allowed', `${request.method} is not allowed here; allowed: ${allow}`))
  })
  return methodsAt
}
