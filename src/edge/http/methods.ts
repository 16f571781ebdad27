import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { failure, type Failure, notFound } from '../../core/errors.ts'
import { sendNotFoundPage, wantsPage } from './notFoundPage.ts'
import { sendFailure } from './problem.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route for what no other route of its folder takes: it does not say that something is there. */
    takesRest?: boolean
  }
}

/** The refusal of a request that matches no route: 405 when the path exists, with `Allow` in the reply, else 404. */
export type RefuseUnknown = (request: FastifyRequest, reply: FastifyReply) => Failure

/** Remembers every route and answers requests that match none. Returns the refusal for interfaces with an envelope of their own. */
export function answerUnknownRoutes(app: FastifyInstance): RefuseUnknown {
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
  const refuse: RefuseUnknown = (request, reply) => {
    const path = pathOf(request)
    const methods = methodsAt(path)
    // With the method among them, its route has found nothing.
    if (methods.length === 0 || methods.includes(request.method))
      return notFound('message', `Nothing is at ${path.slice(0, 128)}`)
    const allow = methods.join(', ')
    reply.header('Allow', allow)
    return failure('method_not_allowed', `${request.method} is not allowed here; allowed: ${allow}`)
  }
  app.setNotFoundHandler((request, reply) => {
    const refusal = refuse(request, reply)
    if (refusal.code === 'not_found' && wantsPage(request)) return sendNotFoundPage(reply, pathOf(request))
    return sendFailure(reply, refusal)
  })
  return refuse
}

const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0] ?? '/'
