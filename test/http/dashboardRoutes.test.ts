import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildHttp } from '../../src/app/server.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { type Browser, browserOf, callAs } from '../support/dashboard.ts'
import { requestOf, routesOf } from '../support/routes.ts'

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
