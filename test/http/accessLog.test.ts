import { afterAll, beforeAll, expect, it } from 'vitest'
import { runApp, type RunningApp } from '../support/app.ts'

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp({ flags: { access: { log: { admissionRate: 1 } } } })
})
afterAll(() => sluice.close())

const ask = (question: object) =>
  sluice.call('POST', '/api/access/check', { action: 'publish', protocol: 'whip', ip: '192.0.2.1', ...question })
const log = async (query = '') => (await sluice.call('GET', `/api/access/log${query}`)).json

it('keeps refusals and, when asked to, admissions, newest first, and finds them by every filter', async () => {
  const made = await sluice.call('POST', '/api/publish_token', { label: 'a', streams: [{ streamName: 'show' }] })
  const { id, token } = made.json.data
  await ask({ streamName: 'show', token, origin: 'https://a.example' })
  await ask({ streamName: 'other', token, ip: '2001:db8::1' })
  await ask({ streamName: 'bad\u0007name'.slice(0, 3), token: 'nonsense' })
  const { data, pagination } = await log()
  expect(data.map((row: { message: string }) => row.message)).toEqual([
    'Unauthorized: Invalid token',
    'Unauthorized: StreamName is not valid for token',
    'Allowed',
  ])
  expect(pagination).toEqual({ hasMore: false })
  expect(data[2]).toMatchObject({
    source: 'check',
    tokenId: id,
    streamName: 'show',
    address: '192.0.2.1',
    origin: 'https://a.example',
    allowed: true,
  })
  const count = async (query: string) => (await log(query)).data.length
  expect(await count(`?tokenId=${id}`)).toBe(2)
  expect(await count('?streamName=other')).toBe(1)
  expect(await count('?address=2001:DB8:0::1')).toBe(1)
  expect(await count('?code=invalid_token')).toBe(1)
  expect(await count('?allowed=true')).toBe(1)
  expect(await count('?from=2000-01-01&until=2001-01-01')).toBe(0)
  expect(JSON.stringify(await log())).not.toContain(token)
})

it('pages by a cursor that holds while rows are added, and refuses one that is not its own', async () => {
  for (let i = 0; i < 25; i++) await ask({ streamName: `paged-${i}`, token: 'x' })
  const first = await log('?code=invalid_token&limit=10')
  expect(first.pagination.hasMore).toBe(true)
  await ask({ streamName: 'late', token: 'x' })
  const seen = first.data.map((row: { streamName: string }) => row.streamName)
  let { cursor } = first.pagination
  while (cursor !== undefined) {
    const page = await log(`?code=invalid_token&limit=7&cursor=${cursor}`)
    seen.push(...page.data.map((row: { streamName: string }) => row.streamName))
    cursor = page.pagination.cursor
  }
  expect(seen.filter((name: string) => name.startsWith('paged-'))).toEqual(
    Array.from({ length: 25 }, (_, i) => `paged-${24 - i}`),
  )
  expect(seen).not.toContain('late')
  for (const bad of [`?limit=10&cursor=${first.pagination.cursor}`, '?cursor=AAAA', '?cursor=']) {
    const refused = await sluice.call('GET', `/api/access/log${bad}`)
    expect(refused.status).toBe(400)
    expect(refused.json.data.message).toContain('invalid_cursor')
  }
})

it.each(['limit=0', 'limit=101', 'tokenId=x', 'address=1.2.3', 'code=nope', 'allowed=yes', 'from=soon'])(
  'refuses the query %s by name',
  async (query) => {
    const answer = await sluice.call('GET', `/api/access/log?${query}`)
    expect(answer.status).toBe(400)
    expect(Object.keys(answer.json.data.errors)).toEqual([query.split('=')[0]])
  },
)
