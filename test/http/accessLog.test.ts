import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { timeOrderedId } from '../../src/base/ids.ts'
import { cliActor } from '../../src/commands/context.ts'
import { createToken } from '../../src/commands/tokens/createToken.ts'
import { runApp, type RunningApp } from '../support/app.ts'

/** Of a server whose budgets do not refill while this is set. */
let stoppedAtMs: number | null = null
const clock: Clock = { ...systemClock, monotonic: () => stoppedAtMs ?? systemClock.monotonic() }

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp({ clock, flags: { access: { log: { admissionRate: 1 } } } })
})
afterAll(() => sluice.close())

const ask = (question: object) =>
  sluice.call('POST', '/api/access/check', { action: 'publish', protocol: 'whip', ip: '192.0.2.1', ...question })
const log = async (query = '') => (await sluice.call('GET', `/api/access/log${query}`)).json

it('stores refusals and, if enabled, admissions, lists them newest first, and finds them by every filter', async () => {
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

it('pages with a cursor that stays valid while rows are added, and refuses a foreign cursor', async () => {
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

it('shows the trace of a decision as it was, whatever changed since', async () => {
  const made = await sluice.call('POST', '/api/publish_token', { label: 'a', streams: [{ streamName: 'traced' }] })
  const { id } = made.json.data
  await ask({ streamName: 'another', tokenId: id })
  await sluice.call('DELETE', `/api/publish_token/${id}`)
  const [row] = (await log(`?tokenId=${id}`)).data
  expect(row).not.toHaveProperty('trace')
  const { json } = await sluice.call('GET', `/api/access/log/${row.id}`)
  const { trace, ...same } = json.data
  expect(same).toEqual(row)
  expect(trace.map(({ check, outcome }: { check: string; outcome: string }) => `${check} ${outcome}`)).toEqual([
    'token pass',
    'active pass',
    'expiry skip',
    'streamName fail',
  ])
  for (const unknown of ['x', '1'.repeat(22), 'z'.repeat(22), `${row.id.slice(0, -1)}!`]) {
    const { status, json: refused } = await sluice.call('GET', `/api/access/log/${unknown}`)
    expect([status, Object.keys(refused.data)]).toEqual([404, ['id']])
  }
})

it('shows a decision whose id is later than its time, because the clock was set back', async () => {
  const { clock, random } = sluice.app.ctx
  timeOrderedId(clock.now() + 3_600_000, random)
  await ask({ streamName: 'set-back', token: 'unknown' })
  const [row] = (await log('?streamName=set-back')).data
  expect((await sluice.call('GET', `/api/access/log/${row.id}`)).json.data).toMatchObject(row)
})

it('keeps a trace within its bound, however long a client makes it', async () => {
  await ask({ streamName: 'long', token: `${'a'.repeat(5000)}.b.c` })
  await ask({ streamName: 'long', action: 'view', protocol: 'whep', origin: `https://${'o'.repeat(9000)}.example` })
  const { data } = await log('?streamName=long')
  expect(data).toHaveLength(2)
  for (const { id } of data) {
    const { trace } = (await sluice.call('GET', `/api/access/log/${id}`)).json.data
    expect(JSON.stringify(trace).length).toBeLessThan(5000)
  }
})

it('counts recorded decisions by code, the most first', async () => {
  const from = new Date(Date.now() - 60_000).toISOString()
  const of = async (query = '') => (await sluice.call('GET', `/api/access/summary?from=${from}${query}`)).json.data
  const before = await of()
  const { json } = await sluice.call('POST', '/api/publish_token', { label: 'a', streams: [{ streamName: 'summed' }] })
  for (let at = 0; at < 3; at++) await ask({ streamName: 'other', tokenId: json.data.id })
  await ask({ streamName: 'summed', tokenId: json.data.id })
  const after = await of()
  expect([after.allowed - before.allowed, after.refused - before.refused]).toEqual([1, 3])
  const count = ({ codes }: { codes: { code: string; count: number }[] }) =>
    codes.find(({ code }) => code === 'stream_name_not_allowed')?.count ?? 0
  expect(count(after) - count(before)).toBe(3)
  expect(after.codes).toEqual(after.codes.toSorted((a: { count: number }, b: { count: number }) => b.count - a.count))
  expect((await of('&source=admission')).refused).toBe(0)
  expect((await of('&source=check')).refused).toBe(after.refused)
  expect((await of(`&until=${from}`)).refused).toBe(0)
  const day = (await sluice.call('GET', '/api/access/summary')).json.data
  expect(Date.parse(day.until) - Date.parse(day.from)).toBe(86_400_000)
})

it.each(['from=soon', 'source=any', 'from=2026-01-01&until=2026-03-01', 'from=2026-01-02&until=2026-01-01'])(
  'refuses a summary of %s by name',
  async (query) => {
    const { status, json } = await sluice.call('GET', `/api/access/summary?${query}`)
    expect([status, Object.keys(json.data.errors)]).toEqual([400, [query.split('=')[0]]])
  },
)

it('answers a check by the id of a token as it answers one by its value', async () => {
  for (const kind of ['publish', 'subscribe']) {
    const made = await sluice.call('POST', `/api/${kind}_token`, { label: 'a', streams: [{ streamName: 'asked' }] })
    const { id, token } = made.json.data
    const what = kind === 'publish' ? {} : { action: 'view', protocol: 'whep' }
    for (const streamName of ['asked', 'other']) {
      const [byId, byValue] = [{ tokenId: id }, { token }].map((named) => ask({ streamName, ...what, ...named }))
      expect((await byId)?.json).toEqual((await byValue)?.json)
    }
    const both = await ask({ streamName: 'asked', token, tokenId: id })
    expect([both.status, Object.keys(both.json.data.errors)]).toEqual([400, ['tokenId']])
  }
  const foreign = await ask({ streamName: 'asked', tokenId: 123_456 })
  expect([foreign.status, foreign.json.data]).toEqual([404, { tokenId: 'No token with id: 123456' }])
  const { ctx } = sluice.app
  await ctx.store.transaction((tx) => tx.accounts.insert({ id: 'zz9999', name: 'other', createdAtMs: 1 }))
  const theirs = await createToken(ctx, cliActor('zz9999'), 'publish', {
    label: 'a',
    streams: [{ streamName: 'asked' }],
  })
  const hidden = await ask({ streamName: 'asked', tokenId: theirs.ok ? theirs.value.id : 0 })
  expect([hidden.status, Object.keys(hidden.json.data)]).toEqual([404, ['tokenId']])
  for (const tokenId of [0, 1.5, '7', true]) {
    const { status, json } = await ask({ streamName: 'asked', tokenId })
    expect([status, Object.keys(json.data.errors)]).toEqual([400, ['tokenId']])
  }
})

it('folds and bounds a flood of refusals and reports it; records nothing for an account that does not exist', async () => {
  const made = await sluice.call('POST', '/api/publish_token', {
    label: 'vip',
    streams: [{ streamName: 'vip.*', isRegex: true }],
    subscribeRequiresAuth: true,
  })
  expect(made.status).toBe(200)
  const watch = (account: string, stream: string, origin: string, query = '') =>
    sluice.call('GET', `/hls/${account}/${stream}/index.m3u8${query}`, undefined, { authorization: '', origin })
  const flood = (times: number, ask: (at: number) => Promise<{ status: number }>) =>
    Promise.all(Array.from({ length: times }, (_, at) => ask(at)))
  // Whole milliseconds: sums of others are rounded.
  stoppedAtMs = Math.floor(systemClock.monotonic())
  // Before the others, which use up the rows of the address.
  await flood(20, (at) => watch('zzz999', `vip-${at}`, 'https://same.example', '?auth=wrong'))
  const answers = await flood(200, () => watch(sluice.accountId, 'vip', 'https://same.example'))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]))
  await flood(300, (at) => watch(sluice.accountId, `vip-${at}`, `https://${at}.example`))

  const { data } = await log('?streamName=vip')
  expect(data).toMatchObject([{ count: 200, code: 'token_missing', origin: 'https://same.example' }])
  expect(Date.parse(data[0].lastAt)).toBeGreaterThanOrEqual(Date.parse(data[0].at))
  const page = (accountId: string) => sluice.app.ctx.store.read.accessLog.page({ accountId, limit: 10_000 })
  const rows = await page(sluice.accountId)
  // A quarter of `access.log.rowsPerMinute` for one address.
  expect(rows.filter(({ address }) => address === '127.0.0.1')).toHaveLength(60)
  expect(await page('zzz999')).toEqual([])

  const metrics = await (await fetch(`${sluice.base}/metrics`)).text()
  const counted = (name: string) => Number(new RegExp(`^sluice_access_log_${name} (\\d+)$`, 'm').exec(metrics)?.[1])
  expect(counted('folded_total')).toBeGreaterThanOrEqual(199)
  expect(counted('dropped_total{reason="unknown_account"}')).toBe(20)
  expect(counted('dropped_total{reason="address_budget"}')).toBeGreaterThanOrEqual(200)
})
