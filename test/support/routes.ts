import type { FastifyInstance } from 'fastify'

/** `METHOD path` of every route of a server. */
export function routesOf(http: Pick<FastifyInstance, 'printRoutes'>): string[] {
  const above: string[] = []
  // A line of the tree for each segment.
  return http
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', segment = '', methods = ''] = /^([│ ]*)[├└]── (\S*)(?: \(([A-Z, ]+)\))?/.exec(line) ?? []
      const depth = indent.length / 4
      above.splice(depth, above.length, segment)
      return methods === '' ? [] : methods.split(', ').map((method) => `${method} ${above.join('')}`)
    })
}

/** A request of a route, with ids that can exist for its parameters. */
export function requestOf(route: string): [method: string, path: string] {
  const [method = '', path = ''] = route.split(' ')
  const at = path.replaceAll(/:(token|webhook|user|secret|credential|session)Id/g, '7').replaceAll(/:\w+/g, 'ch_7')
  return [method, at]
}
