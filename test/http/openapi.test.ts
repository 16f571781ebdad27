import { readFileSync } from 'node:fs'
import fastify from 'fastify'
import { expect, it } from 'vitest'
import { collectOpenApi } from '../../src/edge/http/openapi.ts'
import { runApp } from '../support/app.ts'

const file = new URL('../../api/tokens.openapi.json', import.meta.url)

it('api/tokens.openapi.json is what the server serves (npm run generate makes it)', async () => {
  const sluice = await runApp()
  const served = (await sluice.call('GET', '/api/openapi.json')).json
  await sluice.close()
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(served)
  expect(Object.keys(served.paths).filter((path) => path.startsWith('/api/webhooks'))).toEqual([
    '/api/webhooks',
    '/api/webhooks/{webhookId}',
    '/api/webhooks/list',
    '/api/webhooks/test/{webhookType}',
    '/api/webhooks/{webhookId}/test/{webhookType}',
    '/api/webhooks/{webhookId}/deliveries',
    '/api/webhooks/{webhookId}/deliveries/{deliveryId}',
    '/api/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver',
    '/api/webhooks/{webhookId}/deliveries/redeliver',
  ])
})

it('api/channels.openapi.json is what the server serves, and contains every schema that it references', async () => {
  const sluice = await runApp()
  const served = await sluice.call('GET', '/v2/openapi.json', undefined, { authorization: '' })
  await sluice.close()
  const committed = readFileSync(new URL('../../api/channels.openapi.json', import.meta.url), 'utf8')
  expect(JSON.parse(committed)).toEqual(served.json)
  const named = [...served.text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name ?? '')
  expect(Object.keys(served.json.components.schemas)).toEqual([...new Set(named)].sort((a, b) => (a < b ? -1 : 1)))
  expect(served.json.paths['/v2/channels'].get.security).toEqual([{ credential: [] }])
})

it('every number of a body has bounds, since PostgreSQL refuses one that a column cannot hold', () => {
  const unbounded: string[] = []
  for (const name of ['tokens', 'channels']) {
    const committed = readFileSync(new URL(`../../api/${name}.openapi.json`, import.meta.url), 'utf8')
    const { paths, components } = JSON.parse(committed) as {
      paths: Record<string, Record<string, { requestBody?: unknown }>>
      components: { schemas: Record<string, unknown> }
    }
    const walk = (schema: unknown, at: string): void => {
      if (typeof schema !== 'object' || schema === null) return
      const { $ref = '', type, minimum, maximum } = schema as { [name: string]: unknown; $ref?: string }
      if (type === 'integer' && (minimum === undefined || maximum === undefined)) unbounded.push(at)
      walk(components.schemas[$ref.slice($ref.lastIndexOf('/') + 1)], at)
      for (const [part, value] of Object.entries(schema)) walk(value, `${at}.${part}`)
    }
    for (const [path, methods] of Object.entries(paths))
      for (const { requestBody } of Object.values(methods)) walk(requestBody, path)
  }
  expect(unbounded).toEqual([])
})

it('every operation has a name of its own for generated clients, across both documents', () => {
  const names = ['tokens', 'channels'].flatMap((name) => {
    const committed = readFileSync(new URL(`../../api/${name}.openapi.json`, import.meta.url), 'utf8')
    const { paths } = JSON.parse(committed) as { paths: Record<string, Record<string, { operationId?: string }>> }
    return Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
  })
  expect(names.length).toBeGreaterThan(100)
  expect(names.filter((name, i) => name === undefined || names.indexOf(name) !== i)).toEqual([])
  expect(names.filter((name) => !/^[a-z]+([A-Z][a-z0-9]*)+$/.test(name ?? ''))).toEqual([])
})

it('a described route without an operationId cannot be registered', async () => {
  const app = fastify()
  await collectOpenApi(app, '0')
  const answer = (): string => ''
  app.get('/plain', answer)
  app.get('/named', { schema: { tags: ['things'], operationId: 'readThing' } }, answer)
  expect(() => app.get('/unnamed', { schema: { tags: ['things'] } }, answer)).toThrow('GET /unnamed has no operationId')
  await app.close()
})

it('api/dashboard.openapi.json is what the server serves', async () => {
  const sluice = await runApp()
  const served = await sluice.call('GET', '/dashboard/api/openapi.json', undefined, { authorization: '' })
  await sluice.close()
  const committed = readFileSync(new URL('../../api/dashboard.openapi.json', import.meta.url), 'utf8')
  expect(JSON.parse(committed)).toEqual(served.json)
  expect(served.json.paths['/dashboard/api/session'].get.security).toEqual([{ session: [] }])
})
