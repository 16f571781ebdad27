import { appendFile } from 'node:fs'
import type { Socket } from 'node:net'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { createEgress, type Egress, type EgressOptions } from '../../src/net/egress.ts'
import { failureText } from './support/failureText.ts'
import { ownPort } from '../support/ownPort.ts'
import { httpReceiver, type Receiver, tcpReceiver } from './support/receivers.ts'

const BODY = Buffer.from('{"type":"feeds"}')
const open: { stop?: () => Promise<void>; close?: () => Promise<void> }[] = []

afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await (thing.stop ?? thing.close)?.call(thing)
})

/** No exchange runs out of time, unless the test passes a clock that it advances. */
function egress(options: Partial<EgressOptions> = {}): Egress {
  const made = createEgress({ allowPrivateTargets: true, clock: new ManualClock(), ...options })
  open.push(made)
  return made
}

async function opened(receiver: Promise<Receiver>): Promise<Receiver> {
  open.push(await receiver)
  return receiver
}

/** 100 ms of the clock pass in 50 turns of the event loop, in which both sides do what they can, on any machine. */
const pass = (clock: ManualClock): NodeJS.Timeout => setInterval(() => clock.advance(2), 1)

const post = (from: Egress, port: number, path = '/', body: Uint8Array = BODY) =>
  from.send({ url: `http://127.0.0.1:${port}${path}`, method: 'POST', headers: { 'x-service-kind': 'test' }, body })

describe('an exchange', () => {
  test('sends exactly these bytes and headers, and returns the answer', async () => {
    const receiver = await opened(httpReceiver())
    const outcome = await post(egress(), receiver.port, '/hook?key=1')
    expect(outcome).toMatchObject({ kind: 'answered', status: 200, answer: 'thank you', truncated: false })
    expect(receiver.requests[0]).toMatchObject({ method: 'POST', path: '/hook?key=1', body: BODY })
    expect(receiver.requests[0]?.headers).toMatchObject({
      'x-service-kind': 'test',
      'content-length': String(BODY.length),
      host: `127.0.0.1:${receiver.port}`,
    })
  })

  test('has a connection of its own, so that a receiver that closes idle connections loses nothing', async () => {
    const receiver = await opened(httpReceiver())
    const from = egress()
    for (let i = 0; i < 3; i++) expect(await post(from, receiver.port)).toMatchObject({ kind: 'answered' })
    expect(receiver.connections).toBe(3)
  })

  test('does not follow a redirect, inward or anywhere', async () => {
    const victim = await opened(httpReceiver())
    for (const status of [301, 302, 303, 307, 308]) {
      const location = `http://127.0.0.1:${victim.port}/latest/meta-data`
      const receiver = await opened(
        httpReceiver((_request, response) => response.writeHead(status, { location }).end()),
      )
      const outcome = await post(egress(), receiver.port)
      expect(outcome).toMatchObject({ kind: 'answered', status })
      expect(failureText(outcome)).toBe(`redirects are not followed (status ${status})`)
    }
    expect(victim.connections).toBe(0)
  })

  test.each([
    [200, null],
    [204, null],
    [400, 'the receiver answered with status 400'],
    [503, 'the receiver answered with status 503'],
  ])('with status %i counts as: %s', async (status, failure) => {
    const receiver = await opened(httpReceiver((_request, response) => response.writeHead(status).end()))
    expect(failureText(await post(egress(), receiver.port))).toBe(failure)
  })

  test('without a listener fails while connecting', async () => {
    const receiver = await httpReceiver()
    await receiver.stop()
    const outcome = await post(egress(), receiver.port)
    expect(outcome).toMatchObject({ kind: 'failed', stage: 'connect', code: 'connection_refused', status: null })
  })

  test('to a receiver with a full disk fails with its answer, and the next receiver still gets its event', async () => {
    const full = await opened(
      httpReceiver((_request, response) => {
        // A device that is always full: the write fails as it does on a real one.
        appendFile('/dev/full', BODY, (error) => response.writeHead(error ? 507 : 200).end(error?.code))
      }),
    )
    const healthy = await opened(httpReceiver())
    const from = egress()
    const [refused, taken] = await Promise.all([post(from, full.port), post(from, healthy.port)])
    expect(refused).toMatchObject({ kind: 'answered', status: 507, answer: 'ENOSPC' })
    expect(failureText(refused)).toBe('the receiver answered with status 507')
    expect(taken).toMatchObject({ kind: 'answered', status: 200 })
  })

  test('ends when its caller no longer wants it, and when the egress is closed', async () => {
    const receiver = await opened(httpReceiver(() => undefined))
    const from = egress()
    const caller = new AbortController()
    const url = `http://127.0.0.1:${receiver.port}/`
    const first = from.send({ url, method: 'POST', headers: {}, body: BODY, signal: caller.signal })
    const second = from.send({ url, method: 'POST', headers: {}, body: BODY })
    await expect.poll(() => receiver.requests.length).toBe(2)
    caller.abort()
    expect(await first).toMatchObject({ kind: 'failed', stage: 'answer' })
    await from.close()
    expect(await second).toMatchObject({ kind: 'failed', code: 'aborted' })
    expect(await post(from, receiver.port)).toMatchObject({ kind: 'failed', code: 'aborted' })
    expect(receiver.connections).toBe(2)
  })
})

describe('an answer', () => {
  test('of a gigabyte is cut after 16 KiB and the connection is closed', async () => {
    const [chunk, total] = [Buffer.alloc(65_536, 'x'), 1_073_741_824]
    let written = 0
    const receiver = await opened(
      httpReceiver((_request, response) => {
        const more = () => {
          while (written < total && !response.destroyed) {
            written += chunk.length
            if (!response.write(chunk)) return
          }
        }
        response.on('drain', more)
        more()
      }),
    )
    const outcome = await post(egress(), receiver.port)
    expect(outcome).toMatchObject({ kind: 'answered', status: 200, truncated: true, answer: 'x'.repeat(16_384) })
    expect(written).toBeLessThan(total / 16)
  })

  test('of exactly 16 KiB is complete', async () => {
    const receiver = await opened(httpReceiver((_request, response) => response.end('y'.repeat(16_384))))
    const outcome = await post(egress(), receiver.port)
    expect(outcome).toMatchObject({ truncated: false, answer: 'y'.repeat(16_384) })
  })

  test('of 60 KiB is complete where so much is read, however it comes', async () => {
    const body = 'z'.repeat(61_440)
    const receivers = [
      httpReceiver((_request, response) => response.end(body)),
      httpReceiver((_request, response) => {
        for (let at = 0; at < body.length; at += 1024) response.write(body.slice(at, at + 1024))
        response.end()
      }),
    ]
    for (const receiver of receivers) {
      const { port } = await opened(receiver)
      const outcome = await post(egress({ maxAnswerBytes: 65_536 }), port)
      expect(outcome).toMatchObject({ truncated: false, answer: body })
    }
  })

  test('in thousands of chunks of a byte counts as too long', async () => {
    const chunks = `${'1\r\nx\r\n'.repeat(15_000)}0\r\n\r\n`
    const receiver = await opened(
      tcpReceiver((socket) => {
        socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`))
      }),
    )
    const outcome = await post(egress(), receiver.port)
    expect(outcome).toMatchObject({ kind: 'answered', status: 200, truncated: true })
  })

  test('that is cut inside a character loses only that character, and NUL is replaced', async () => {
    const receiver = await opened(httpReceiver((_request, response) => response.end('\0é€€')))
    expect(await post(egress({ maxAnswerBytes: 5 }), receiver.port)).toMatchObject({
      answer: '\uFFFDé',
      truncated: true,
    })
  })

  test('that comes byte by byte ends with the time for the whole exchange', async () => {
    const clock = new ManualClock()
    const receiver = await opened(
      httpReceiver((_request, response) => {
        const timers = [setInterval(() => response.write('.'), 1), pass(clock)]
        response.on('close', () => timers.forEach(clearInterval))
      }),
    )
    const outcome = await post(egress({ totalTimeoutMs: 200, clock }), receiver.port)
    expect(outcome).toMatchObject({ kind: 'failed', stage: 'answer', code: 'timeout', status: 200 })
    expect(failureText(outcome)).toBe('the receiver did not give a complete answer within 0.2 s')
  })

  test('whose header comes byte by byte ends in the same way', async () => {
    const clock = new ManualClock()
    const receiver = await opened(
      tcpReceiver((socket) => {
        socket.write('HTTP/1.1 200 OK\r\n')
        const timers = [setInterval(() => socket.write('x'), 1)]
        socket.once('data', () => timers.push(pass(clock)))
        socket.on('close', () => timers.forEach(clearInterval))
      }),
    )
    const outcome = await post(egress({ totalTimeoutMs: 200, clock }), receiver.port)
    expect(outcome).toMatchObject({ kind: 'failed', stage: 'answer', code: 'timeout', status: null })
  })

  test('that never arrives is a timeout of the answer; an unread request is one of sending', async () => {
    const clock = new ManualClock()
    const passUntilClosed = (socket: Socket): void => {
      const timer = pass(clock)
      socket.on('close', () => clearInterval(timer))
    }
    const silent = await opened(tcpReceiver((socket) => void socket.once('data', () => passUntilClosed(socket))))
    const deaf = await opened(tcpReceiver((socket) => passUntilClosed(socket.pause())))
    const from = egress({ totalTimeoutMs: 200, clock })
    expect(await post(from, silent.port)).toMatchObject({ kind: 'failed', stage: 'answer', code: 'timeout' })
    const big = Buffer.alloc(64 << 20)
    expect(await post(from, deaf.port, '/', big)).toMatchObject({ kind: 'failed', stage: 'send', code: 'timeout' })
  })

  test.each([
    ['a reset before it', '', 'reset'],
    ['a reset in the middle', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc', 'reset'],
    ['words that are no HTTP', '220 mail.example.com ESMTP\r\n', 'answer_invalid'],
    ['interim answers without an end', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1000), 'answer_invalid'],
    ['empty lines without an end', '\r\n'.repeat(200_000), 'answer_invalid'],
    ['an endless header', `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(70_000)}`, 'answer_invalid'],
    [
      'an upgrade without a request for it',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      'answer_invalid',
    ],
  ])('that is %s fails as a value', async (_what, bytes, code) => {
    const receiver = await opened(
      tcpReceiver((socket) => {
        socket.once('data', () => socket.write(bytes, () => code === 'reset' && socket.resetAndDestroy()))
      }),
    )
    expect(await post(egress(), receiver.port)).toMatchObject({ kind: 'failed', stage: 'answer', code })
  })

  test.each([100, 102, 103])('counts that comes after interim answers with status %i', async (interim) => {
    const first = `HTTP/1.1 ${interim} Wait\r\nlink: </a>; rel=preload\r\n\r\n`
    for (const bytes of [first, `${first}HTTP/1.1 100 Continue\r\n\r\n${first}`]) {
      for (const isSplit of [false, true]) {
        const receiver = await opened(
          tcpReceiver((socket) => {
            const final = 'HTTP/1.1 202 Accepted\r\ncontent-length: 5\r\n\r\nthere'
            socket.once('data', () => {
              if (!isSplit) return socket.write(bytes + final)
              socket.write(bytes)
              return setImmediate(() => socket.write(final))
            })
          }),
        )
        expect(await post(egress(), receiver.port)).toMatchObject({ kind: 'answered', status: 202, answer: 'there' })
      }
    }
  })

  test('from a receiver that closes at once is a reset', async () => {
    const receiver = await opened(tcpReceiver((socket) => void socket.end()))
    const outcome = await post(egress(), receiver.port)
    expect(outcome).toMatchObject({ kind: 'failed', code: 'reset' })
  })
})

describe('time', () => {
  let usedPort = 0
  beforeAll(async () => {
    usedPort = await ownPort()
  })

  test('to connect covers a name server that never answers', async () => {
    const clock = new ManualClock()
    const resolver = () => new Promise<never>(() => setImmediate(() => clock.advance(50)))
    const from = egress({ connectTimeoutMs: 50, resolver, clock })
    const outcome = await from.send({ url: 'http://slow.test/', method: 'POST', headers: {}, body: BODY })
    expect(outcome).toMatchObject({ kind: 'failed', stage: 'resolve', code: 'timeout' })
    expect(failureText(outcome)).toBe('the name server did not answer within 0.05 s')
  })

  test('that a pause of the process took counts for nothing: the answer still waits in the socket', async () => {
    const clock = new ManualClock()
    const receiver = await opened(
      httpReceiver((_request, response) => {
        clock.advance(60_000)
        setImmediate(() => response.end('in time'))
      }),
    )
    const outcome = await post(egress({ totalTimeoutMs: 15_000, clock }), receiver.port)
    expect(outcome).toMatchObject({ kind: 'answered', answer: 'in time' })
  })

  test('to connect covers a TLS handshake that never ends', async () => {
    const clock = new ManualClock()
    const receiver = await opened(tcpReceiver((socket) => void socket.once('data', () => clock.advance(100))))
    const from = egress({ connectTimeoutMs: 100, clock })
    const url = `https://127.0.0.1:${receiver.port}/`
    const outcome = await from.send({ url, method: 'POST', headers: {}, body: BODY })
    expect(outcome).toMatchObject({ kind: 'failed', stage: 'tls', code: 'timeout' })
  })

  test('remains for the second address when the first is dead', async () => {
    const receiver = await opened(httpReceiver(undefined, { address: '127.0.0.2', port: usedPort }))
    const from = egress({ resolver: async () => ['127.0.0.1', '127.0.0.2'] })
    const url = `http://two.test:${receiver.port}/`
    expect(await from.send({ url, method: 'POST', headers: {}, body: BODY })).toMatchObject({ kind: 'answered' })
  })
})
