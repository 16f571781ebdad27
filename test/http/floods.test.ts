import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildHttp } from '../../src/app/server.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { RawConnection, requestFor } from '../support/rawConnection.ts'
import { requestOf, routesOf } from '../support/routes.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'

interface Probe {
  readonly method: string
  readonly request: string
}

let sluice: RunningApp
/** A request of every route, without a secret. */
let probes: Probe[]

beforeAll(async () => {
  sluice = await runApp({ engine: new ScriptedEngine() })
  const http = await buildHttp(sluice.app)
  probes = routesOf(http)
    .map(probeOf)
    .filter(({ method }) => method !== 'HEAD')
  await http.close()
})
afterAll(() => sluice.close())

function probeOf(route: string): Probe {
  const [method, path] = requestOf(route)
  const headers: Record<string, string> = method === 'GET' || method === 'HEAD' ? {} : { 'content-length': '0' }
  return { method, request: requestFor(path.replace('*', 'x'), { 'accept-encoding': 'br, gzip', ...headers }, method) }
}

const HEALTH: Probe = { method: 'GET', request: requestFor('/healthz') }

/** On a connection of its own. */
async function answerTo({ method, request }: Probe) {
  const client = await RawConnection.to(sluice.base)
  client.socket.write(request)
  const answer = await client.answer(method)
  client.socket.destroy()
  return answer
}

/** Microseconds of three answers. */
async function cpuOf(probe: Probe): Promise<number> {
  const before = process.cpuUsage()
  for (let times = 0; times < 3; times++) await answerTo(probe)
  const { user, system } = process.cpuUsage(before)
  return user + system
}

/** The answers that this server has given. */
async function answered(): Promise<number> {
  const { text } = await sluice.call('GET', '/metrics')
  return [...text.matchAll(/^sluice_http_requests_total\{.*\} (\d+)$/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  )
}

const closedBy = async (reason: string): Promise<number> => {
  const { text } = await sluice.call('GET', '/metrics')
  return Number(
    new RegExp(`^sluice_http_connections_closed_total\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(text)?.[1],
  )
}

test('a thousand requests in one write: no more than 17 of them are answered, on any route that needs no secret', async () => {
  const open: Probe[] = []
  for (const probe of probes) if (![401, 403, 404].includes((await answerTo(probe)).status)) open.push(probe)
  expect(open.length).toBeGreaterThan(30)
  for (const probe of open) {
    const before = await answered()
    const client = await RawConnection.to(sluice.base)
    client.socket.on('error', () => undefined)
    client.socket.write(probe.request.repeat(1100))
    await client.ended()
    // Two of them are for the metrics.
    expect((await answered()) - before, probe.request).toBeLessThanOrEqual(17 + 2)
  }
  expect(await closedBy('flooded')).toBe(open.length)
})

test('between two answers of a connection with requests in advance, others get theirs', async () => {
  const [flooding, other] = [await RawConnection.to(sluice.base), await RawConnection.to(sluice.base)]
  const IN_ADVANCE = 17
  let answers = 0
  flooding.socket.write(HEALTH.request.repeat(IN_ADVANCE))
  other.socket.write(HEALTH.request)
  const all = (async () => {
    for (; answers < IN_ADVANCE; answers++) await flooding.answer()
  })()
  await other.answer()
  expect(answers).toBeLessThan(IN_ADVANCE)
  await all
})

test('requests in advance get their answers in order, also those with bodies that come in pieces', async () => {
  const client = await RawConnection.to(sluice.base)
  const body = JSON.stringify({ password: 'x' })
  const post = requestFor(
    '/dashboard/api/session',
    { 'content-length': `${body.length}`, 'content-type': 'application/json' },
    'POST',
  )
  client.socket.write(HEALTH.request + post + body.slice(0, 4))
  expect((await client.answer()).status).toBe(200)
  client.socket.write(body.slice(4) + HEALTH.request + requestFor('/nothing'))
  expect((await client.answer('POST')).status).toBe(403)
  expect((await client.answer()).status).toBe(200)
  expect((await client.answer()).status).toBe(404)
  expect((await client.ask('/healthz')).status).toBe(200)
})

/** This process does other things, too, so the cheapest of some answers counts. */
async function cheapest(probe: Probe): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let times = 0; times < 5; times++) least = Math.min(least, await cpuOf(probe))
  return least
}

/** The most that an answer may cost, in answers of `/healthz`. Metrics, which only this machine gets, cost 7. */
const COST_MAX = 16

test('no answer without a secret costs many times that of another', async () => {
  await answerTo(HEALTH)
  const usual = await cheapest(HEALTH)
  // What disturbs this process for a while makes both answers dearer.
  const isCheap = async (probe: Probe): Promise<boolean> => {
    for (let times = 0; times < 5; times++) {
      const [cost, beside] = [await cpuOf(probe), await cpuOf(HEALTH)]
      if (cost <= COST_MAX * Math.max(usual, beside)) return true
    }
    return false
  }
  const dear: string[] = []
  for (const probe of probes) if (!(await isCheap(probe))) dear.push(probe.request.split('\r')[0] ?? '')
  expect(dear).toEqual([])
})

test.each(['/api/openapi.json', '/v2/openapi.json', '/dashboard/api/openapi.json'])('%s is made once', async (path) => {
  const client = await RawConnection.to(sluice.base)
  const first = await client.ask(path, { 'accept-encoding': 'gzip' })
  const etag = /^etag: (.*)$/im.exec(first.head)?.[1] ?? ''
  expect(first.head).toMatch(/^content-encoding: gzip$/im)
  expect(await client.ask(path, { 'accept-encoding': 'gzip', 'if-none-match': etag })).toMatchObject({ status: 304 })
})
