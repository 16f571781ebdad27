import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runApp, type RunningApp } from '../support/app.ts'

let sluice: RunningApp
let ids: number[]
beforeAll(async () => {
  sluice = await runApp()
  const made = []
  for (const label of ['b', 'a']) {
    made.push(await sluice.call('POST', '/api/publish_token', { label, streams: [{ streamName: `of ${label}` }] }))
  }
  ids = made.map(({ json }) => json.data.id)
})
afterAll(() => sluice.close())

const get = (path: string) => sluice.call('GET', path)
const day = 'startDate=2026-11-20&stopDate=2026-11-22'

describe('a query', () => {
  it.each([
    ['True, as Python and C# write it', 'list?isDescending=True'],
    ['FALSE', 'list?isDescending=FALSE'],
    ['a word in another case', 'list?sortBy=addedon'],
    ['a word in another case', 'list_by_name?name=a&filterBy=TOKENNAME'],
    ['an unknown parameter', 'list?_=1700000000'],
    ['an unknown parameter, twice', 'list?x=1&x=2'],
    ['a parameter twice with one value', 'list?page=1&page=1'],
    ['the name of a parameter in another case', 'list?Page=1&ItemsOnPage=20'],
    ['the streamId twice with one value', 'active?streamId=ACCOUNT%2Fs&streamId=ACCOUNT%2Fs'],
    ['a name that would reach a prototype', 'list?__proto__=1&constructor=2'],
  ])('with %s is accepted: %s', async (_what, query) => {
    const answer = await get(`/api/publish_token/${query.replaceAll('ACCOUNT', sluice.accountId)}`)
    expect([answer.status, answer.json.status]).toEqual([200, 'success'])
  })

  it('means the same in every spelling', async () => {
    const idsOf = async (query: string) => {
      const { json } = await get(`/api/publish_token/list?${query}`)
      return json.data.map(({ id }: { id: number }) => id)
    }
    expect(await idsOf('sortBy=ADDEDON&isDescending=True')).toEqual([...ids].reverse())
    expect(await idsOf('sortBy=addedOn&isDescending=False')).toEqual(ids)
    expect(await idsOf('ITEMSONPAGE=1&PAGE=2&sortBy=Name')).toEqual([ids[0]])
  })

  it('with two values for one parameter is refused', async () => {
    for (const query of ['page=1&page=2', 'page=1&Page=2']) {
      const { status, json } = await get(`/api/publish_token/list?${query}`)
      expect([status, Object.keys(json.data.errors)]).toEqual([400, ['page']])
    }
  })

  it.each([
    ['/api/sessions?action=VIEW&protocol=Whep&_=1', 200],
    ['/api/sessions?action=watch', 400],
    ['/api/access/log?allowed=True&code=&_=1', 400],
    ['/api/access/log?allowed=True&code=Token_Expired&_=1', 200],
    ['/api/access/log?from=2026-11-21T00:00:00.0000000%2B00:00', 200],
    ['/api/recordings?streamName=a&streamName=a&_=1', 200],
    ['/api/recordings?search=tage', 200],
    ['/api/recordings?search=', 400],
    [`/api/recordings?search=${'x'.repeat(129)}`, 400],
    ['/api/recordings?search=%00', 400],
    ['/api/recordings?streamName=%01', 400],
    [`/api/analytics/tracking/ids?${day}&prefix=%01`, 400],
    [`/api/analytics/tracking/total?${day}&trackingIds=.`, 200],
    ['/api/recordings?tokenId=x', 400],
    ['/api/webhooks/list?isDescending=TRUE&_=1', 200],
    [`/api/analytics/account/series?${day}&resolution=day&_=1`, 200],
    [`/api/analytics/account/total?${day}&resolution=Hour`, 200],
    [`/api/analytics/account/total?${day}&startDate=2026-11-20`, 200],
    [`/api/analytics/account/total?${day}&startDate=2026-11-21`, 400],
    [
      '/api/analytics/account/total?startDate=2026-11-21T00:00:00.0000000%2B00:00&stopDate=2026-11-22T00:00:00.000000Z',
      200,
    ],
    ['/api/analytics/account/total?startDate=2026-11-21T00:00:00.0000001Z&stopDate=2026-11-22', 400],
  ])('%s gets %i', async (path, status) => {
    const answer = await get(path)
    expect([answer.status, answer.text]).toEqual([status, expect.any(String)])
  })

  it('may search for a whole name, however its characters are encoded', async () => {
    expect((await get(`/api/recordings?search=${encodeURIComponent('😀'.repeat(128))}`)).status).toBe(200)
  })

  it('of the deliveries of a webhook may contain unknown parameters', async () => {
    const made = await sluice.call('POST', '/api/webhooks', { url: 'https://hooks.example.com/' })
    expect((await get(`/api/webhooks/${made.json.data.id}/deliveries?limit=1&limit=1&_=1`)).status).toBe(200)
    expect((await get(`/api/webhooks/${made.json.data.id}/deliveries?limit=1&limit=2`)).status).toBe(400)
  })

  it.each(['feeds', 'VIEWERCONNECTION'])('accepts any case for the type of a test event: %s', async (type) => {
    expect((await sluice.call('POST', `/api/webhooks/test/${type}`)).status).toBe(200)
  })
})
