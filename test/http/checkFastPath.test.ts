import { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { createAccount } from '../../src/commands/accounts/accounts.ts'
import { createSecret, deleteSecret } from '../../src/commands/accounts/secrets.ts'
import { cliActor } from '../../src/commands/context.ts'
import { dialOwnServer } from '../support/acceptedSocket.ts'
import { runApp, type RunningApp } from '../support/app.ts'

let sluice: RunningApp
let token: string
let strict: string
beforeAll(async () => {
  sluice = await runApp()
  const body = { label: 'a', streams: [{ streamName: 'show' }] }
  token = (await sluice.call('POST', '/api/publish_token', body)).json.data.token
  const rules = {
    ...body,
    allowedOrigins: ['*.example.com'],
    allowedIpAddresses: ['192.0.2.0/24'],
    bindIpsOnUsage: 1,
  }
  strict = (await sluice.call('POST', '/api/publish_token', rules)).json.data.token
})
afterAll(() => sluice.close())

const question = { action: 'publish', protocol: 'whip', streamName: 'show', ip: '192.0.2.1' }

/** A trailing slash keeps a request off the fast path and changes nothing else. */
it.each<[string, () => unknown, Record<string, string>]>([
  ['an admission', () => ({ ...question, token }), {}],
  ['an admission whose steps were written before', () => ({ ...question, token }), {}],
  ['an admission by other rules', () => ({ ...question, token: strict, origin: 'https://www.example.com' }), {}],
  ['a refusal', () => ({ ...question, token: 'x' }), {}],
  ['a text as long as a value', () => ({ ...question, token: 'x'.repeat(64) }), {}],
  ['a name that needs UTF-8', () => ({ ...question, streamName: 'Bühne 🎭' }), {}],
  ['bad fields', () => ({ action: 'publish', ip: 7 }), {}],
  ['malformed JSON', () => '{"action":', {}],
  ['invalid UTF-8', () => Buffer.from([0x22, 0xff, 0x22]), {}],
  ['a prototype key', () => '{"__proto__":{}}', {}],
  ['a property twice', () => '{"action":"publish","action":"view"}', {}],
  ['a byte order mark', () => `\uFEFF${JSON.stringify({ ...question, token })}`, {}],
  ['a content encoding', () => JSON.stringify({ ...question, token }), { 'content-encoding': 'br' }],
  ['an empty object', () => ({}), {}],
  ['another content type', () => 'action=publish', { 'content-type': 'text/plain' }],
  ['a charset', () => ({ ...question, token }), { 'content-type': 'application/json; charset=utf-8' }],
  ['no secret', () => ({ ...question, token }), { authorization: '' }],
  ['a wrong secret', () => ({ ...question, token }), { authorization: 'Bearer nope' }],
  ['a body over the limit', () => ({ ...question, token: 'a'.repeat(1_100_000) }), {}],
])('the fast path and the framework answer alike: %s', async (_name, body, headers) => {
  const short = await sluice.call('POST', '/api/access/check', body(), headers)
  const long = await sluice.call('POST', '/api/access/check/', body(), headers)
  expect({ status: short.status, json: short.json }).toEqual({ status: long.status, json: long.json })
  for (const name of ['content-type', 'cache-control']) expect(short.headers.get(name)).toBe(long.headers.get(name))
  const [help, longer] = [short, long].map(({ headers: sent }) => sent.get('link'))
  // The other path is one step deeper.
  expect(longer).toBe(help?.replace('<', '<../') ?? null)
  for (const { headers: sent } of [short, long]) expect(sent.get('x-request-id')).toMatch(/^\S{8,}-\w+$/)
})

it('accepts U+FFFD that the client itself has sent', async () => {
  const { status, json } = await sluice.call('POST', '/api/access/check', { ...question, streamName: '\uFFFD', token })
  expect([status, json.data.code]).toEqual([200, 'stream_name_not_allowed'])
})

/** Writes these packets. The server has read each before the next is sent. */
async function exchange(packets: readonly (string | Buffer)[], answers: number): Promise<string[]> {
  const { socket, send } = await dialOwnServer(Number(new URL(sluice.base).port))
  try {
    let received = ''
    socket.setEncoding('utf8').on('data', (text) => (received += text))
    for (const packet of packets) await send(packet)
    const bodies = () => [...received.matchAll(/\r\n\r\n(\{.*?\})(?=HTTP|$)/gs)].map(([, body]) => body ?? '')
    await vi.waitFor(() => expect(bodies()).toHaveLength(answers), { timeout: 30_000 })
    return bodies()
  } finally {
    socket.destroy()
  }
}

const asked = (body: string): { head: string; bytes: Buffer } => {
  const bytes = Buffer.from(body)
  const lines = ['POST /api/access/check HTTP/1.1', 'host: x', `authorization: Bearer ${sluice.secret}`]
  return {
    head: [...lines, 'content-type: application/json', `content-length: ${bytes.length}`, '', ''].join('\r\n'),
    bytes,
  }
}

it.each<[string, (head: string, bytes: Buffer) => (string | Buffer)[]]>([
  ['one packet', (head, bytes) => [Buffer.concat([Buffer.from(head), bytes])]],
  ['head and body', (head, bytes) => [head, bytes]],
  [
    'a cut within the body',
    (head, bytes) => [Buffer.concat([Buffer.from(head), bytes.subarray(0, 9)]), bytes.subarray(9)],
  ],
  ['the last byte late', (head, bytes) => [head, bytes.subarray(0, -1), bytes.subarray(-1)]],
  [
    'a cut within a character',
    (head, bytes) => [head, bytes.subarray(0, bytes.indexOf(0xc3) + 1), bytes.subarray(bytes.indexOf(0xc3) + 1)],
  ],
])('the fast path reads a body in any number of packets, repeatedly on one connection: %s', async (_name, packets) => {
  const body = { ...question, streamName: 'Bühne', token }
  const { head, bytes } = asked(JSON.stringify(body))
  const expected = (await sluice.call('POST', '/api/access/check/', body)).text
  const twice = [...packets(head, bytes), ...packets(head, bytes)]
  expect(await exchange(twice, 2)).toEqual([expected, expected])
})

it('reads a body that came in one packet with its head at one look, without the events of a stream', async () => {
  const { head, bytes } = asked(JSON.stringify({ ...question, token }))
  const packet = Buffer.concat([Buffer.from(head), bytes])
  // The lease of this node is renewed by another connection to the file. The request after that asks the store what has changed.
  const changed = vi.spyOn(sluice.app.ctx.store, 'changedRemotely').mockReturnValue(false)
  await exchange([packet], 1)
  const listening = vi.spyOn(IncomingMessage.prototype, 'on')
  const url = (message: unknown) => (message as IncomingMessage).url
  try {
    // Only of this request: others of this process may be under way.
    const events = () =>
      listening.mock.calls.flatMap(([event], at) =>
        url(listening.mock.contexts[at]) === '/api/access/check' ? [event] : [],
      )
    await exchange([packet], 1)
    expect(events()).not.toContain('data')
    await exchange([head, bytes], 1)
    expect(events()).toContain('data')
  } finally {
    listening.mockRestore()
    changed.mockRestore()
  }
})

it('says whether the stream is live now, also in an admission whose steps were written before', async () => {
  const onAir = vi.spyOn(sluice.app.ctx, 'streamsOnAir')
  const live: unknown[] = []
  try {
    for (const found of [undefined, { secured: true }, undefined]) {
      onAir.mockReturnValue(found)
      live.push((await sluice.call('POST', '/api/access/check', { ...question, token })).json.data.live)
    }
  } finally {
    onAir.mockRestore()
  }
  expect(live).toEqual([false, true, false])
})

it('answers several requests of one packet in order, even if one has to wait for the store', async () => {
  const made = await sluice.call('POST', '/api/publish_token', { label: 'b', streams: [{ streamName: 'other' }] })
  const bodies = [made.json.data.token, 'x', token].map((each) => JSON.stringify({ ...question, token: each }))
  const packet = bodies
    .map(asked)
    .map(({ head, bytes }) => head + bytes.toString())
    .join('')
  const expected = []
  const answers = await exchange([packet], 3)
  for (const body of bodies) expected.push((await sluice.call('POST', '/api/access/check/', body)).text)
  expect(answers).toEqual(expected)
})

it('refuses as the framework does when the secret was deleted while its holder kept the body back', async () => {
  const { app, base, accountId } = sluice
  const made = await createSecret(app.ctx, cliActor(accountId), 'kept back')
  if (!made.ok) return expect.fail()
  const headers = { authorization: `Bearer ${made.value.value}` }
  const body = { ...question, token }
  // From now on memory has it.
  expect((await sluice.call('POST', '/api/access/check', body, headers)).status).toBe(200)
  const { socket, send } = await dialOwnServer(Number(new URL(base).port))
  const { head, bytes } = asked(JSON.stringify(body))
  await send(head.replace(sluice.secret, made.value.value).replace('host: x', 'host: x\r\nconnection: close'))
  await deleteSecret(app.ctx, cliActor(accountId), made.value.secret.id)
  socket.write(bytes)
  const answer = await text(socket)
  const refused = await sluice.call('POST', '/api/access/check/', body, headers)
  expect([refused.status, answer.split('\r\n\r\n')[1]]).toEqual([401, refused.text])
  expect(answer).toMatch(/^HTTP\/1\.1 401 .*\r\nWWW-Authenticate: Bearer realm="sluice"\r\n/s)
})

it('counts the answers of the fast path like those of the framework', async () => {
  const { base } = sluice
  const count = async (status: number): Promise<number> => {
    const series = `sluice_http_requests_total{method="POST",route="/api/access/check",status="${status}"} `
    const line = (await (await fetch(`${base}/metrics`)).text()).split('\n').find((each) => each.startsWith(series))
    return Number(line?.slice(series.length) ?? 0)
  }
  const [fine, bad] = [await count(200), await count(400)]
  for (const path of ['/api/access/check', '/api/access/check/']) {
    await sluice.call('POST', path, { ...question, token })
    await sluice.call('POST', path, '{')
  }
  expect([await count(200), await count(400)]).toEqual([fine + 2, bad + 2])
})

it('a token of another account looks like one that does not exist', async () => {
  const other = await createAccount(sluice.app.ctx, 'other')
  if (!other.ok) return expect.fail()
  const theirs = await createSecret(sluice.app.ctx, cliActor(other.value.id), 'other')
  if (!theirs.ok) return expect.fail()
  const authorization = `Bearer ${theirs.value.value}`
  const check = async (presented: string) =>
    (await sluice.call('POST', '/api/access/check', { ...question, token: presented }, { authorization })).json
  const answer = await check(token)
  expect(answer.data).toMatchObject({ allowed: false, code: 'invalid_token' })
  expect(answer).toEqual(await check('0'.repeat(64)))
})
