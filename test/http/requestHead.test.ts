import { createServer, type IncomingMessage } from 'node:http'
import { duplexPair } from 'node:stream'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loadSplice, type RequestHead, type Splice } from '../../src/base/splice.ts'

const native = loadSplice()

const NEXT = Buffer.from('GET /next HTTP/1.1\r\nHost: n\r\nX-After: yes\r\n\r\n')

interface Seen {
  readonly requests: Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'httpVersion' | 'rawHeaders'>[]
  readonly hasFailed: boolean
}

/** Of these, random requests are made. */
const PIECES = [
  ['GET ', 'HEAD ', 'OPTIONS ', 'POST ', '/', '/hls/~t/a', '?', '%2f', '*', ' HTTP/1.1\r\n', ' HTTP/1.0\r\n'],
  ['Host: a\r\n', 'host:\t\r\n', 'Origin: https://a\r\n', 'Referer:b\r\n', 'User-Agent: x  y \r\n'],
  ['X-Forwarded-For: 192.0.2.1\r\n', 'X-A: \xfc\r\n', 'Connection: keep-alive\r\n', 'Connection: close\r\n'],
  ['Content-Length: 3\r\n', 'Transfer-Encoding: chunked\r\n', 'Upgrade: h2c\r\n', 'Range: bytes=0-\r\n'],
  ['Expect: 100-continue\r\n', 'Keep-Alive: 5\r\n', 'Cookie: a=b; c\r\n', 'TE: trailers\r\n', 'X_!#$: {}\r\n'],
  ['\r\n', '\n', '\r', ' ', '\t', ':', ',', '\0', '\x7f', '\x80', 'abc', '\r\n\r\n'],
].flat()

/** What Node's own parser reads. */
async function readByNode(bytes: Buffer): Promise<Seen> {
  const requests: IncomingMessage[] = []
  let hasFailed = false
  const server = createServer((request, response) => {
    requests.push(request)
    request.resume()
    response.end()
  })
  for (const event of ['clientError', 'upgrade', 'connect', 'checkExpectation', 'checkContinue']) {
    server.on(event, () => {
      hasFailed = true
    })
  }
  const [client, socket] = duplexPair()
  client.on('error', () => undefined).resume()
  socket.on('error', () => undefined)
  server.emit('connection', socket)
  client.end(bytes)
  for (let turns = 0; turns < 4; turns++) await new Promise(setImmediate)
  client.destroy()
  socket.destroy()
  return { requests, hasFailed }
}

/** The values as Node has them. */
const valuesOf = ({ headers }: Pick<IncomingMessage, 'headers'>) => [
  headers.origin,
  headers.referer,
  headers['user-agent'],
  headers['x-forwarded-for'],
  headers['cmcd-request'],
  headers['cmcd-status'],
]

describe.runIf(native)('the head of a request', () => {
  const splice = native as Splice
  const of = (text: string): RequestHead | null => splice.read(Buffer.from(text, 'latin1'))

  it('is read with its target and the headers that decisions look at', () => {
    const lines = [
      'GET /hls/~t/a/v0/s1.m4s?x=%20 HTTP/1.1',
      'Host: a',
      'ORIGIN:https://a.example',
      'Referer: \t https://a.example/page \t',
      'user-agent: M\xfcller (x; y)',
      'X-Forwarded-For: 192.0.2.1, 192.0.2.2',
      'CMCD-Request: bl=100,mtp=2000',
      'CMCD-Status: bs',
      'Connection: Keep-Alive',
      'Accept: */*',
      'X-Empty:',
    ]
    const head = `${lines.join('\r\n')}\r\n\r\n`
    expect(of(`${head}GET /more`)).toEqual([
      head.length,
      true,
      '/hls/~t/a/v0/s1.m4s?x=%20',
      'https://a.example',
      'https://a.example/page',
      'M\xfcller (x; y)',
      '192.0.2.1, 192.0.2.2',
      'bl=100,mtp=2000',
      'bs',
    ])
    expect(of('HEAD / HTTP/1.1\r\nHost:\r\n\r\n')?.slice(1, 4)).toEqual([false, '/', undefined])
    expect(of('OPTIONS / HTTP/1.1\r\nHost:\r\n\r\n')?.[1]).toBe(false)
    expect(of('GET / HTTP/1.1\r\nHost: a\r\nRange: bytes=0-1\r\n\r\n')?.[1]).toBe(false)
  })

  const HOST = 'Host: a\r\n'
  it.each<[string, string]>([
    ['nothing', ''],
    ['an incomplete line', 'GET / HTT'],
    ['an incomplete head', `GET / HTTP/1.1\r\n${HOST}`],
    ['half of the empty line', `GET / HTTP/1.1\r\n${HOST}\r`],
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['two hosts', `GET / HTTP/1.1\r\n${HOST}${HOST}\r\n`],
    ['HTTP/1.0', `GET / HTTP/1.0\r\n${HOST}\r\n`],
    ['HTTP/0.9', 'GET /\r\n\r\n'],
    ['another method', `POST / HTTP/1.1\r\n${HOST}\r\n`],
    ['a method in small letters', `get / HTTP/1.1\r\n${HOST}\r\n`],
    ['a whole address', `GET http://a/ HTTP/1.1\r\n${HOST}\r\n`],
    ['a star', `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`],
    ['a target with other letters', `GET /\xfc HTTP/1.1\r\n${HOST}\r\n`],
    ['two spaces', `GET  / HTTP/1.1\r\n${HOST}\r\n`],
    ['an empty line before it', `\r\nGET / HTTP/1.1\r\n${HOST}\r\n`],
    ['lines that end with LF alone', `GET / HTTP/1.1\nHost: a\n\n`],
    ['a CR in a value', `GET / HTTP/1.1\r\n${HOST}X-A: a\rb\r\n\r\n`],
    ['a NUL in a value', `GET / HTTP/1.1\r\n${HOST}X-A: a\0b\r\n\r\n`],
    ['a folded line', `GET / HTTP/1.1\r\n${HOST}X-A: a\r\n b\r\n\r\n`],
    ['a space before the colon', `GET / HTTP/1.1\r\n${HOST}X-A : a\r\n\r\n`],
    ['a header without a name', `GET / HTTP/1.1\r\n${HOST}: a\r\n\r\n`],
    ['a header without a colon', `GET / HTTP/1.1\r\n${HOST}X-A\r\n\r\n`],
    ['a length', `GET / HTTP/1.1\r\n${HOST}Content-Length: 0\r\n\r\n`],
    ['an encoding of the transfer', `GET / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`],
    ['an expectation', `GET / HTTP/1.1\r\n${HOST}Expect: 100-continue\r\n\r\n`],
    ['an upgrade', `GET / HTTP/1.1\r\n${HOST}Upgrade: websocket\r\n\r\n`],
    ['a connection that closes', `GET / HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`],
    ['another connection', `GET / HTTP/1.1\r\n${HOST}Connection: keep-alive, close\r\n\r\n`],
    ['a connection with a proxy', `GET / HTTP/1.1\r\n${HOST}Proxy-Connection: close\r\n\r\n`],
    ['a header twice', `GET / HTTP/1.1\r\n${HOST}X-Forwarded-For: a\r\nx-forwarded-for: b\r\n\r\n`],
    ['too many headers', `GET / HTTP/1.1\r\n${HOST}${'X-A: b\r\n'.repeat(100)}\r\n`],
  ])('is left to Node: %s', (_what, text) => expect(of(text)).toBeNull())

  it('is read as Node reads it, and ends where it ends for Node', async () => {
    const piece = fc.constantFrom(...PIECES)
    const usual = fc
      .tuple(fc.constantFrom('GET ', 'HEAD ', 'OPTIONS '), fc.array(piece, { maxLength: 6 }))
      .map(([method, headers]) => `${method}/a HTTP/1.1\r\nHost: a\r\n${headers.join('')}\r\n`)
    const any = fc.array(piece, { minLength: 1, maxLength: 12, size: 'max' }).map((pieces) => pieces.join(''))
    const changed = fc
      .tuple(usual, fc.nat(200), fc.nat(255))
      .map(([text, at, code]) => `${text.slice(0, at)}${String.fromCharCode(code)}${text.slice(at + 1)}`)
    let read = 0
    await fc.assert(
      fc.asyncProperty(
        fc.oneof({ arbitrary: usual, weight: 3 }, any, { arbitrary: changed, weight: 2 }),
        async (text) => {
          const head = of(text)
          if (head === null) return
          read += 1
          const [length, isWholeGet, target, ...values] = head
          const { requests, hasFailed } = await readByNode(
            Buffer.concat([Buffer.from(text.slice(0, length), 'latin1'), NEXT]),
          )
          expect([hasFailed, requests.length]).toEqual([false, 2])
          const [first = expect.fail(), second = expect.fail()] = requests
          expect([first.url, first.httpVersion, ...valuesOf(first)]).toEqual([target, '1.1', ...values])
          expect(isWholeGet).toBe(first.method === 'GET' && first.headers.range === undefined)
          expect([second.url, second.headers]).toEqual(['/next', { host: 'n', 'x-after': 'yes' }])
        },
      ),
      { numRuns: 4000 },
    )
    expect(read).toBeGreaterThan(500)
  })

  it('may come in any number of pieces: only the whole is read', () => {
    const head = 'GET /hls/a HTTP/1.1\r\nHost: a\r\nOrigin: b\r\n\r\n'
    for (let length = 0; length < head.length; length++) expect(of(head.slice(0, length))).toBeNull()
    expect(of(head)?.[0]).toBe(head.length)
  })
})
