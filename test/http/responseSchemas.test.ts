import { createRequire } from 'node:module'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { COMPILERS } from '../../src/edge/http/serializers.ts'
import { runApp, type RunningApp } from '../support/app.ts'

type BuildSerializer = NonNullable<typeof COMPILERS.buildSerializer>
type Route = Parameters<ReturnType<BuildSerializer>>[0]

/** The schemas that Fastify compiles, compiled at once instead of later. */
const asked: { route: Route; compile: () => unknown; key: string }[] = []
const eager = createRequire(import.meta.resolve('fastify'))(
  '@fastify/fast-json-stringify-compiler',
) as () => BuildSerializer

let sluice: RunningApp
beforeAll(async () => {
  const lazy = COMPILERS.buildSerializer
  let factories = 0
  const spy = vi.spyOn(COMPILERS, 'buildSerializer').mockImplementation((schemas, options) => {
    const factory = factories++
    return (route) => {
      const key = JSON.stringify([factory, route.schema])
      asked.push({ route, compile: () => eager()(schemas, options)(route), key })
      if (!lazy) throw new Error('there is no serialiser to build')
      return lazy(schemas, options)(route)
    }
  })
  sluice = await runApp({ flags: { server: { demo: true } } })
  spy.mockRestore()
})
afterAll(() => sluice.close())

it('every response schema of every route compiles, though a server compiles each with its first answer', () => {
  // Routes have the same refusals.
  const different = new Map(asked.map((one) => [one.key, one])).values()
  const broken = [...different].flatMap(({ route, compile }) => {
    try {
      return typeof compile() === 'function' ? [] : [`${nameOf(route)}: makes no function`]
    } catch (error) {
      return [`${nameOf(route)}: ${(error as Error).message}`]
    }
  })
  expect(broken).toEqual([])
})

it('these are all routes in the documents of the two interfaces', async () => {
  const documented: string[] = []
  for (const document of ['/api/openapi.json', '/v2/openapi.json']) {
    const { paths } = (await sluice.call('GET', document)).json as { paths: Record<string, Record<string, Operation>> }
    for (const [path, operations] of Object.entries(paths))
      for (const [method, { responses }] of Object.entries(operations))
        for (const [status, { content }] of Object.entries(responses))
          if (content?.['application/json']) documented.push(`${method.toUpperCase()} ${path} ${status[0]}XX`)
  }
  expect(documented.length).toBeGreaterThan(200)
  expect(asked.map(({ route }) => nameOf(route))).toEqual(expect.arrayContaining(documented))
})

interface Operation {
  readonly responses: Readonly<Record<string, { content?: Record<string, unknown> }>>
}

/** The path as the documents write it. */
function nameOf({ method, url, httpStatus }: Route): string {
  const path = url.replaceAll(/:(\w+)/g, '{$1}')
  return `${method} ${path} ${httpStatus?.toUpperCase()}`
}
