import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
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
    '/api/webhooks/{webhookId}/deliveries',
    '/api/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver',
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

it('api/dashboard.openapi.json is what the server serves', async () => {
  const sluice = await runApp()
  const served = await sluice.call('GET', '/dashboard/api/openapi.json', undefined, { authorization: '' })
  await sluice.close()
  const committed = readFileSync(new URL('../../api/dashboard.openapi.json', import.meta.url), 'utf8')
  expect(JSON.parse(committed)).toEqual(served.json)
  expect(served.json.paths['/dashboard/api/session'].get.security).toEqual([{ session: [] }])
})
