import { createRequire } from 'node:module'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { COMPILERS } from '../../src/edge/http/serializers.ts'
import { runApp, type RunningApp } from '../support/app.ts'

type BuildSerializer = NonNullable<typeof COMPILERS.buildSerializer>
type Route = Parameters<ReturnType<BuildSerializer>>[0]

/** What Fastify asks to have compiled, and how that is done when it is not put off. */
const asked = vi.hoisted(() => ({ routes: [] as { route: Route; compile: () => unknown }[] }))

vi.mock('../../src/edge/http/serializers.ts', async (load) => {
  const { COMPILERS: lazy } = await load<typeof import('../../src/edge/http/serializers.ts')>()
  const compilers = createRequire(import.meta.resolve('fastify'))('@fastify/fast-json-stringify-compiler')
  const buildSerializer: BuildSerializer = (schemas, options) => (route) => {
    asked.routes.push({ route, compile: () => (compilers() as BuildSerializer)(schemas, options)(route) })
    const put = lazy.buildSerializer
    if (!put) throw new Error('there is no serialiser to build')
    return put(schemas, options)(route)
  }
  return { COMPILERS: { ...lazy, buildSerializer } }
})

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp({ flags: { server: { demo: true } } })
})
afterAll(() => sluice.close())

it('every response schema of every route compiles, though a server compiles each with its first answer', () => {
  const broken = asked.routes.flatMap(({ route, compile }) => {
    try {
      return typeof compile() === 'function' ? [] : [`${nameOf(route)}: makes no function`]
    } catch (error) {
      return [`${nameOf(route)}: ${(error as Error).message}`]
    }
  })
  expect(broken).toEqual([])
})

it('and these are all routes that the two interfaces document', async () => {
  const compiled = new Set(asked.routes.map(({ route }) => nameOf(route)))
  for (const document of ['/api/openapi.json', '/v2/openapi.json']) {
    const { paths } = (await sluice.call('GET', document)).json as { paths: Record<string, Record<string, Operation>> }
    for (const [path, operations] of Object.entries(paths))
      for (const [method, { responses }] of Object.entries(operations))
        for (const [status, { content }] of Object.entries(responses))
          if (content?.['application/json']) expect(compiled).toContain(`${method.toUpperCase()} ${path} ${status}`)
  }
})

interface Operation {
  readonly responses: Readonly<Record<string, { content?: Record<string, unknown> }>>
}

/** As the documents write it. */
function nameOf({ method, url, httpStatus }: Route): string {
  const path = url.replaceAll(/:(\w+)/g, '{$1}')
  return `${method} ${path} ${httpStatus?.toUpperCase()}`
}
