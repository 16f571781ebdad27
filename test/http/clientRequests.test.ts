import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runApp, type RunningApp } from '../support/app.ts'
import { CLIENT_REQUESTS, type ClientRequest, READ_OF_RECORDS } from './clientRequests.ts'

let sluice: RunningApp
const ids: Record<string, string> = {}
const streams = [{ streamName: 'container1/.+', isRegex: true }, { streamName: 'stream1' }]
beforeAll(async () => {
  sluice = await runApp()
  const made = async (path: string, body: object) => (await sluice.call('POST', path, body)).json.data
  ids['ACCOUNT'] = sluice.accountId
  ids['WEBHOOK'] = (await made('/api/webhooks', { url: 'https://hooks.example.com/' })).id
})
afterAll(() => sluice.close())

const asked = async ({ method, path, body, headers }: ClientRequest) => {
  for (const kind of ['publish', 'subscribe']) {
    if (!path.includes(kind.toUpperCase())) continue
    const made = await sluice.call('POST', `/api/${kind}_token`, { label: 'a', streams })
    ids[kind.toUpperCase()] = made.json.data.id
  }
  const named = JSON.stringify({ path, body }).replace(/PUBLISH|SUBSCRIBE|WEBHOOK|ACCOUNT/g, (name) =>
    String(ids[name]),
  )
  const real = JSON.parse(named) as { path: string; body?: unknown }
  return sluice.call(method, real.path, real.body, headers)
}

describe('a request of a client of hosted services', () => {
  const answered = CLIENT_REQUESTS.filter(({ refused }) => refused === undefined)
  it.each(answered.map((request) => ({ ...request, about: JSON.stringify(request.body) ?? '' })))(
    'is answered: $what: $method $path $about',
    async (request) => {
      const { status, json } = await asked(request)
      expect([status, json.status, json.data]).toEqual([200, 'success', expect.anything()])
    },
  )

  const refused = CLIENT_REQUESTS.filter((request) => request.refused !== undefined)
  it.each(refused)('is refused for missing features only: $what: $refused', async (request) => {
    const { status, json } = await asked(request)
    expect([status, Object.keys(json.data.errors)]).toEqual([400, request.refused])
    for (const name of request.refused ?? [])
      expect(json.data.errors[name]).toEqual([
        expect.stringMatching(/is not built: \w|^must be auto, as no node has a region/),
      ])
    const others = Object.entries(request.body as object).filter(([name]) => !request.refused?.includes(name))
    const rest = await asked({ ...request, body: Object.fromEntries(others) })
    const isEmpty = others.length === 0
    expect(rest.status).toBe(isEmpty ? 400 : 200)
  })

  it.each(['publish', 'subscribe'] as const)(
    'finds in the record of a %s token the fields that it reads',
    async (kind) => {
      const { json } = await sluice.call('POST', `/api/${kind}_token`, { label: 'a', streams })
      for (const path of READ_OF_RECORDS[kind].join(' ').split(' ')) expect(json.data).toHaveProperty(path)
    },
  )
})
