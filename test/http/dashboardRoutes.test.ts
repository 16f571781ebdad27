import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildHttp } from '../../src/app/server.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { type Browser, browserOf, callAs } from '../support/dashboard.ts'
import { requestOf, routesOf } from '../support/routes.ts'
import { refusalsDe } from '../../web/dashboard/src/words/refusalsDe.ts'
import { sayRefusalIn } from '../../web/dashboard/src/words/refusalSentences.ts'

/** Routes that need no session. */
const OPEN = [
  'GET /openapi.json',
  'HEAD /openapi.json',
  'POST /session',
  'POST /setup',
  'POST /passkey_session',
  'POST /passkey_session/options',
]

/** What a viewer may do besides reading: ask, and decide about the own session. */
const FOR_VIEWERS = [
  'POST /access/check',
  'POST /preview',
  'DELETE /session',
  'DELETE /session/all',
  'DELETE /session/:sessionId',
  'PUT /password',
  'POST /passkeys',
  'POST /passkeys/options',
  'DELETE /passkeys/:passkeyId',
]

let running: RunningApp
let routes: string[]
beforeAll(async () => {
  running = await runApp()
  const http = await buildHttp(running.app)
  routes = routesOf(http).filter((route) => route.includes(' /dashboard/api'))
  routes = routes.map((route) => route.replace('/dashboard/api', ''))
  await http.close()
})
afterAll(() => running.close())

test('the table has the routes of all three interfaces', () => {
  expect(routes.length).toBeGreaterThan(150)
  expect(routes).toEqual(
    expect.arrayContaining([
      'GET /publish_token/list',
      'POST /v2/channels/:channelId/start',
      'DELETE /session',
      ...OPEN,
    ]),
  )
})

test('every route refuses a request without a session', async () => {
  const answers = await Promise.all(
    routes
      .filter((route) => !OPEN.includes(route))
      .map(async (route) => [route, (await callAs(running, '', ...requestOf(route))).status]),
  )
  expect(answers.filter(([, status]) => status !== 401)).toEqual([])
})

test('no route reads a large body of a stranger', async () => {
  const body = { email: 'x'.repeat(40_000) }
  const answers = await Promise.all(
    OPEN.filter((route) => route.startsWith('POST ')).map(async (route) => {
      const [method, path] = requestOf(route)
      return [route, (await callAs(running, '', method, path, body)).status]
    }),
  )
  expect(answers.filter(([, status]) => status !== 413)).toEqual([])
})

test('every route that changes something refuses a viewer, and every change needs the header', async () => {
  const [admin, viewer] = [await browserOf(running), await browserOf(running, 'viewer')]
  const changes = routes.filter((route) => !/^(GET|HEAD) /.test(route) && !OPEN.includes(route))
  const statuses = (browser: Browser, headers: Record<string, string>, of: string[]) =>
    Promise.all(of.map(async (route) => [route, (await browser.call(...requestOf(route), undefined, headers)).status]))
  const forViewers = changes.filter((route) => !FOR_VIEWERS.includes(route))
  expect(forViewers.length).toBeGreaterThan(50)
  const refused = await statuses(viewer, {}, forViewers)
  expect(refused.filter(([, status]) => status !== 403)).toEqual([])
  const forged = await statuses(admin, { 'x-sluice-dashboard': '' }, changes)
  expect(forged.filter(([, status]) => status !== 403)).toEqual([])
})

test('a viewer gets every report that an admin gets', async () => {
  const [admin, viewer] = [await browserOf(running), await browserOf(running, 'viewer')]
  const reports = routes.filter((route) => route.startsWith('GET /analytics/'))
  const query = '?startDate=2026-01-01&stopDate=2026-01-02&streamNames=a&trackingIds=a&resolution=Hour'
  let made = 0
  for (const route of reports) {
    const path = `${requestOf(route)[1]}${query}`
    const [theirs, ours] = [await viewer.call('GET', path), await admin.call('GET', path)]
    expect([path, theirs.status, theirs.json]).toEqual([path, ours.status, ours.json])
    if (ours.status === 200) made += 1
  }
  expect(made).toBeGreaterThan(15)
})

test('no document of an interface lists the routes of the dashboard, and its own lists no other', async () => {
  const documents = await Promise.all(
    ['/api/openapi.json', '/v2/openapi.json', '/dashboard/api/openapi.json'].map((path) => running.call('GET', path)),
  )
  const [tokens, channels, own] = documents.map(({ json }) => Object.keys(json.paths))
  expect([...(tokens ?? []), ...(channels ?? [])].filter((path) => path.startsWith('/dashboard'))).toEqual([])
  expect(own).toContain('/dashboard/api/session')
  expect(own?.filter((path) => /token|v2|webhooks/.test(path))).toEqual([])
  const operations = Object.values(documents[2]?.json.paths as Record<string, Record<string, { operationId: string }>>)
  const ids = operations.flatMap((path) => Object.values(path).map(({ operationId }) => operationId))
  expect(ids.every((id) => /^[a-z]\w+$/.test(id))).toBe(true)
  expect(new Set(ids).size).toBe(ids.length)
})

/** What people write into forms, in ways that are refused. */
function wrongForms(
  tokenId: number,
  channelId: string,
  keyPath: string,
): [method: string, path: string, body: unknown][] {
  const streams = [{ streamName: 'show', isRegex: false }]
  const publish = (fields: object) => ['POST', '/publish_token', { label: 'a', streams, ...fields }] as const
  const scheduler = (startTime: object, fields: object = {}) =>
    ['POST', '/v2/schedulers', { name: 'a', channels: [{ channelId }], startTime, ...fields }] as const
  const tomorrow = { date: '2999-01-01', time: '20:00', timeZone: 'Europe/Vienna' }
  const key = (body: object) => ['POST', keyPath, body] as const
  return [
    publish({ label: '' }),
    publish({ label: '\u200b' }),
    publish({ label: 'a\u0007' }),
    publish({ streams: [] }),
    publish({ streams: [...streams, ...streams] }),
    publish({ streams: [{ streamName: '..', isRegex: false }] }),
    publish({ streams: [{ streamName: 'a(', isRegex: true }] }),
    publish({ streams: [{ streamName: 'a{1,500}b{1,500}', isRegex: true }] }),
    publish({ streams: Array.from({ length: 99 }, (_, n) => ({ streamName: `.{400}${n}`, isRegex: true })) }),
    publish({
      allowedOrigins: ['*', 'https://a/b', 'a@b', 'ftp://*.a', '*.1.2.3.4', 'a:99999', 'null', 'a*b', 'a b', '-'],
    }),
    publish({ allowedIpAddresses: ['::1', '1.2.3.*', '1.2.3.4-5', '1.2.3.4/33', '1.2.3.04'] }),
    publish({ allowedCountries: ['UK', 'QQ', 'Germany'] }),
    publish({ allowedCountries: ['DE'], deniedCountries: ['AT'] }),
    publish({ bindIpsOnUsage: -1, recordingDays: 1000, priority: 0.5, maxViewers: -1 }),
    publish({ hlsRenditions: [{ height: 361, bitrate: 1 }] }),
    ...[
      'x',
      'rtmp://localhost/a',
      'rtmp://a.example',
      'whips://a.example',
      'srt://a.example',
      'rtsp://a.example#a',
    ].map((url) => publish({ restream: [{ url }] })),
    ...[
      'srt://a.example:9000?latency=x',
      'srt://a.example:9000?streamid=a&passphrase=b',
      'srt://a.example:9000/a?streamid=a',
    ].map((url) => publish({ restream: [{ url }] })),
    ['PUT', `/v2/publish_token/${tokenId}`, {}],
    ['PUT', `/v2/publish_token/${tokenId}`, { removeTokenStreams: [{ streamName: 'show', isRegex: false }] }],
    ['PUT', `/v2/publish_token/${tokenId}`, { removeTokenStreams: [{ streamName: 'none', isRegex: false }] }],
    ['PUT', '/v2/publish_token/999', { label: 'a' }],
    ['POST', '/subscribe_token/999/sign', { streamName: 'a' }],
    ...['x', 'https://a.example/#a', 'rtmp://a.example', 'wheps://a.example', 'rtsp://localhost/a'].map(
      (url) => ['POST', '/pulls', { tokenId, streamName: 'show', url }] as const,
    ),
    ['POST', '/pulls', { tokenId, streamName: 'other', url: 'rtsp://192.0.2.1/a' }],
    ...[
      'x',
      'ftp://a.example',
      'https://user:a@b.example',
      'https://localhost',
      'https://10.0.0.1',
      'https://a.example:0/',
    ].map((url) => ['POST', '/webhooks', { url }] as const),
    ['POST', '/webhooks', { url: 'https://a.example/ b', filter: '(' }],
    ['PUT', '/webhooks/999', { url: 'https://a.example' }],
    ['POST', '/webhooks/999/test/feeds', {}],
    ['POST', '/access/check', { action: 'publish', protocol: 'whip', streamName: 'a', ip: 'x' }],
    ['POST', '/access/check', { action: 'publish', protocol: 'whip', streamName: '', tokenId: 0 }],
    ['DELETE', '/recordings/none', undefined],
    ['DELETE', '/sessions/none', undefined],
    ['POST', '/streams/none/record', { record: true }],
    ['POST', '/session', { email: 'none@example.com', password: 'wrong' }],
    ['POST', '/setup', { code: 'x', email: 'a@example.com', password: 'long enough for all' }],
    ['PUT', '/password', { oldPassword: 'wrong', newPassword: 'correct horse battery' }],
    ['PUT', '/password', { oldPassword: 'correct horse battery', newPassword: 'short' }],
    ['POST', '/users', { email: 'a', password: 'short', role: 'king' }],
    ['PATCH', '/users/999', { role: 'viewer' }],
    ['POST', '/secrets', { name: '' }],
    ['DELETE', '/secrets/999', undefined],
    ['POST', '/credentials', { name: 'a\u0007' }],
    ['DELETE', '/passkeys/999', undefined],
    ['POST', '/passkeys/options', {}],
    ['POST', '/v2/channels', { name: '' }],
    ['POST', '/v2/channels', { name: 'a', ingests: [{ name: 'a', type: 'rtmp-pull', url: 'http://a' }] }],
    ['POST', `/v2/channels/${channelId}/start`, {}],
    ['POST', `/v2/channels/${channelId}x/start`, {}],
    scheduler({ ...tomorrow, date: '2999-02-30' }),
    scheduler({ ...tomorrow, time: '25:00' }),
    scheduler({ ...tomorrow, timeZone: 'Mars' }),
    scheduler({ ...tomorrow, date: '2001-01-01' }),
    ...[
      'x',
      'FREQ=NEVER',
      'FREQ=DAILY;COUNT=1;UNTIL=20301231',
      'FREQ=WEEKLY;BYDAY=1MO',
      'FREQ=DAILY;INTERVAL=0',
      'A=b',
    ].map((recurrence) => scheduler(tomorrow, { recurrence })),
    key({ key: 'short' }),
    key({ name: '', key: 'a'.repeat(64) }),
    key({ key: '-----BEGIN PUBLIC KEY-----' }),
  ] as [string, string, unknown][]
}

/** Every sentence of a refusal: of its fields, or its only one. */
function sentencesOf({ json }: { readonly json: unknown }): string[] {
  const { data, details, message } = json as Record<'data' | 'details' | 'message', unknown>
  if (Array.isArray(details) && details.length > 0) return details.map((one: { message: string }) => one.message)
  const { message: said, errors, ...others } = (data ?? { message }) as Record<string, unknown>
  const fields = Object.values({ ...(errors as object | undefined), ...others })
    .flat()
    .map(String)
  return fields.length > 0 ? fields : [String(said)]
}

test('what a form is refused with is said in German', async () => {
  const browser = await browserOf(running)
  const token = await browser.call('POST', '/publish_token', {
    label: 'a',
    streams: [{ streamName: 'show', isRegex: false }],
  })
  const channel = await browser.call('POST', '/v2/channels', { name: 'a', distributions: [{ name: 'Web' }] })
  const { id, distributions } = channel.json.data
  const forms = wrongForms(token.json.data.id, id, `/v2/distributions/${distributions[0].id}/security/keys`)
  const answers = await Promise.all(forms.map(async (form) => ({ form, answer: await browser.call(...form) })))
  expect(answers.filter(({ answer }) => answer.status < 400).map(({ form }) => form)).toEqual([])
  const said = answers.flatMap(({ answer }) => sentencesOf(answer))
  const inGerman = sayRefusalIn(refusalsDe)
  const isEnglish = (sentence: string) =>
    inGerman(sentence) === sentence ||
    /\b(?:must|the|not|no|cannot|already|and|has|unknown)\b/i.test(inGerman(sentence))
  expect(said.filter(isEnglish)).toEqual([])
})
