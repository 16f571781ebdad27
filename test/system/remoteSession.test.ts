import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { coded } from '../../src/core/notices.ts'
import { mediaAllows, openRemoteSession, type RemoteEndpoint } from '../../src/app/remoteSession.ts'
import { systemClock } from '../../src/base/clock.ts'
import { systemNames } from '../../src/net/resolve.ts'
import { until } from '../support/until.ts'

const SDP = 'v=0\r\n'
const TOKEN = 's3cret-token'

interface Seen {
  readonly line: string
  readonly authorization: string | undefined
  readonly body: string
}

/** An HTTP server at this address that answers as the test says. */
async function server(answer: (seen: Seen, response: ServerResponse) => void, address = '127.0.0.1') {
  const seen: Seen[] = []
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = '', url = '', headers } = request
    const one = {
      line: `${method} ${url}`,
      authorization: headers.authorization,
      body: Buffer.concat(chunks).toString(),
    }
    seen.push(one)
    answer(one, response)
  }
  const http: Server = createServer((request, response) => void take(request, response)).listen(0, address)
  await once(http, 'listening')
  onTestFinished(() => {
    http.closeAllConnections()
    http.close()
  })
  const { port } = http.address() as AddressInfo
  return { seen, port, url: `http://${address}:${port}` }
}

const opened = (response: ServerResponse): void =>
  void response.writeHead(201, { 'content-type': 'application/sdp', location: '/sessions/1?key=9' }).end(SDP)

async function open(text: string, { from, ...over }: Partial<RemoteEndpoint> & { from?: string } = {}) {
  const url = new URL(text)
  const socket = connect(Number(url.port), url.hostname)
  await once(socket, 'connect')
  if (from !== undefined) Object.defineProperty(socket, 'remoteAddress', { value: from })
  const asked: string[] = []
  const endpoint: RemoteEndpoint = {
    url,
    authorization: `Bearer ${TOKEN}`,
    secret: TOKEN,
    name: 'source',
    means: { 404: coded('source_no_stream') },
    clock: systemClock,
    signal: new AbortController().signal,
    how: () => ({
      clock: systemClock,
      resolve: systemNames,
      allows: (address) => asked.push(address) > 0 && address !== '127.0.0.2',
      timeoutMs: 5000,
      trust: undefined,
      protocols: [],
    }),
    ...over,
  }
  return { answer: await openRemoteSession(endpoint, socket, 'offer'), socket, asked }
}

test('a server on the internet had media sent into a private network that is allowed, by an address in its answer', () => {
  const dialling = { clock: systemClock, resolve: systemNames, timeoutMs: 5000, trust: undefined, protocols: [] }
  const how = () => ({ ...dialling, allows: (address: string) => address !== '127.0.0.2' })
  const to = (from: string) => mediaAllows(how, from)
  const addresses = ['10.0.0.5', '9.9.9.9', '127.0.0.2']
  expect(addresses.map((address) => to('8.8.8.8')(address, 5000))).toEqual([false, true, false])
  expect(addresses.map((address) => to('10.0.0.1')(address, 5000))).toEqual([true, true, false])
  // The connection is gone, so it is not known where the answer came from.
  expect([to('')('10.0.0.5', 5000), to('10.0.0.1')('10.0.0.5', 53)]).toEqual([false, false])
})

test('a session is opened with the token, and left', async () => {
  const { seen, url } = await server((_, response) => opened(response))
  const { answer, socket } = await open(`${url}/whep/show?a=1`)
  expect(answer).toMatchObject({ ok: true, value: { answer: SDP } })
  expect(seen).toEqual([{ line: 'POST /whep/show?a=1', authorization: `Bearer ${TOKEN}`, body: 'offer' }])
  expect(socket.destroyed).toBe(true)
  if (answer.ok) answer.value.leave()
  await until(() => seen.length === 2)
  expect(seen[1]).toEqual({ line: 'DELETE /sessions/1?key=9', authorization: `Bearer ${TOKEN}`, body: '' })
})

test('a session at another origin than that of the answer is not deleted', async () => {
  const inside = await server((_, response) => opened(response))
  let location = `${inside.url}/sessions/1`
  const { seen, url } = await server(
    (_, response) => void response.writeHead(201, { 'content-type': 'application/sdp', location }).end(SDP),
  )
  const other = await open(`${url}/whep/show`)
  location = '/sessions/2'
  const here = await open(`${url}/whep/show`)
  for (const { answer } of [other, here]) if (answer.ok) answer.value.leave()
  await until(() => seen.some(({ line }) => line === 'DELETE /sessions/2'))
  expect(inside.seen).toEqual([])
})

describe('a redirect', () => {
  const to =
    (location: string, status = 307) =>
    (_: Seen, response: ServerResponse) =>
      void response.writeHead(status, { location }).end()

  test('is followed with the offer, without the token at another origin', async () => {
    const last = await server((_, response) => opened(response))
    const first = await server(to(`${last.url}/whep/show?auth=x`))
    const { answer, asked } = await open(`${first.url}/whep/show`)
    expect(answer.ok).toBe(true)
    expect(last.seen).toEqual([{ line: 'POST /whep/show?auth=x', authorization: undefined, body: 'offer' }])
    expect(asked).toContain('127.0.0.1')
  })

  test('keeps the token at the same origin', async () => {
    const { seen, url } = await server(({ line }, response) =>
      line.endsWith('/old') ? void response.writeHead(308, { location: 'new' }).end() : opened(response),
    )
    expect((await open(`${url}/whep/old`)).answer.ok).toBe(true)
    expect(seen.map(({ authorization }) => authorization)).toEqual([`Bearer ${TOKEN}`, `Bearer ${TOKEN}`])
  })

  test('to an address that is not allowed is not dialled', async () => {
    const inside = await server((_, response) => opened(response), '127.0.0.2')
    const { url } = await server(to(`${inside.url}/whep/show`))
    const { answer } = await open(`${url}/whep/show`)
    expect(answer).toMatchObject({ ok: false, error: { kind: 'lost' } })
    expect(JSON.stringify(answer)).toContain('an address that no source may have')
    expect(inside.seen).toEqual([])
  })

  test('of a server on the internet leads to no private network, though it is allowed', async () => {
    const inside = await server((_, response) => opened(response))
    const { url } = await server(to(`${inside.url}/whep/show`))
    const { answer } = await open(`${url}/whep/show`, { from: '93.184.216.34' })
    expect(answer).toMatchObject({ ok: false, error: { kind: 'lost' } })
    expect(inside.seen).toEqual([])
  })

  test.each([
    ['without end', '/again', 307],
    ['to another protocol', 'ftp://127.0.0.1/x', 307],
    ['with a login', 'http://me:secret@127.0.0.1/x', 307],
    ['to a port that no media comes from', 'http://127.0.0.1:25/x', 308],
    ['to nowhere', 'http://', 307],
  ])('%s is not followed', async (_, location, status) => {
    const { seen, url } = await server(to(location, status))
    const { answer } = await open(`${url}/whep/show`)
    const message = 'The source redirects to an address that is not followed'
    const sentences = [{ code: 'source_redirects_odd', values: {} }]
    expect(answer).toEqual({ ok: false, error: { kind: 'lost', message, sentences } })
    expect(seen.length).toBeLessThan(5)
  })

  test('that does not keep the offer is none', async () => {
    const { url } = await server(to('/elsewhere', 302))
    expect((await open(`${url}/x`)).answer).toMatchObject({
      ok: false,
      error: { message: 'The source answered with status 302' },
    })
  })
})

describe('another answer is a problem in words, without the token', () => {
  const said =
    (status: number, text: string, type = 'text/plain') =>
    (_: Seen, response: ServerResponse) =>
      void response.writeHead(status, { 'content-type': type }).end(text)
  test.each([
    [said(401, `no ${TOKEN} here`), 'refused', 'The source refuses the login (401). It says: no •••• here'],
    [said(403, ''), 'refused', 'The source refuses the login (403)'],
    [said(404, 'x'), 'lost', 'The source has no such stream (404). It says: x'],
    [said(503, '<html>'), 'lost', 'The source answered with status 503'],
    [said(500, `${'e'.repeat(400)}\n`), 'lost', `The source answered with status 500. It says: ${'e'.repeat(200)}`],
    [said(200, 'fine'), 'lost', 'The source did not answer with SDP'],
    [said(201, 'x'.repeat(70_000), 'application/sdp'), 'lost', 'The source did not answer with SDP'],
  ])('%#', async (answer, kind, message) => {
    const { url } = await server(answer)
    expect((await open(`${url}/whep/show`)).answer).toMatchObject({ ok: false, error: { kind, message } })
  })

  test('which repeats the login as it was sent', async () => {
    const { url } = await server((seen, response) => void response.writeHead(401).end(JSON.stringify(seen)))
    const authorization = `Basic ${Buffer.from(`camera:${TOKEN}`).toString('base64')}`
    const { answer } = await open(`${url}/whep/show`, { authorization })
    const message = answer.ok ? '' : answer.error.message
    expect(message).toContain('"Basic ••••"')
  })

  test('a server that closes', async () => {
    const { url } = await server((_, response) => void response.socket?.destroy())
    expect((await open(`${url}/x`)).answer).toMatchObject({ ok: false, error: { kind: 'lost' } })
  })

  test('one that never answers, until the pull has ended', async () => {
    const stopping = new AbortController()
    const { url } = await server(() => stopping.abort())
    const { answer, socket } = await open(`${url}/x`, { signal: stopping.signal })
    expect(answer).toMatchObject({ ok: false, error: { kind: 'lost' } })
    expect(socket.destroyed).toBe(true)
  })
})
