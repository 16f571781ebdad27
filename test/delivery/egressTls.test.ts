import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createEgress } from '../../src/net/egress.ts'
import type { EgressOutcome } from '../../src/net/outcome.ts'
import { Authority, type Identity } from './support/certificates.ts'
import { failureText } from './support/failureText.ts'
import { httpReceiver, type Receiver, tcpReceiver } from './support/receivers.ts'

const HOST = 'hook.example.com'
let authority: Authority
const open: Receiver[] = []

beforeAll(() => {
  authority = new Authority()
})
afterAll(() => authority.remove())
afterEach(async () => {
  for (const receiver of open.splice(0)) await receiver.stop()
})

async function sendTo(identity: Identity, trust = true): Promise<{ outcome: EgressOutcome; receiver: Receiver }> {
  const named = (request: IncomingMessage) => (request.socket as TLSSocket).servername
  const receiver = await httpReceiver((request, response) => response.end(named(request)), { identity })
  open.push(receiver)
  return { outcome: await sendToPort(receiver.port, trust), receiver }
}

/** All rules apply, except that the receiver may be on loopback. */
async function sendToPort(port: number, trust = true): Promise<EgressOutcome> {
  const egress = createEgress({
    allowPrivateTargets: false,
    allowAddress: (address) => address === '127.0.0.1',
    resolver: async () => ['127.0.0.1'],
    ...(trust ? { caFile: authority.caFile } : {}),
  })
  const url = `https://${HOST}:${port}/hook`
  const outcome = await egress.send({ url, method: 'POST', headers: {}, body: Buffer.from('{}') })
  await egress.close()
  return outcome
}

describe('TLS', () => {
  test('with a certificate of the named authority works, under the name and not the address', async () => {
    const { outcome, receiver } = await sendTo(authority.issue(HOST))
    expect(outcome).toMatchObject({ kind: 'answered', status: 200, answer: HOST })
    expect(receiver.requests[0]?.headers.host).toBe(`${HOST}:${receiver.port}`)
  })

  test('with an unknown authority is refused before anything is sent', async () => {
    const { outcome, receiver } = await sendTo(authority.issue(HOST), false)
    expect(outcome).toMatchObject({ kind: 'failed', stage: 'tls', code: 'certificate_untrusted' })
    expect(receiver.requests).toEqual([])
  })

  test.each([
    ['expired', () => authority.issue(HOST, -30, -1), 'certificate_expired', 'the certificate has expired'],
    [
      'not valid yet',
      () => authority.issue(HOST, 1, 30),
      'certificate_not_yet_valid',
      'the certificate is not valid yet',
    ],
    [
      'for another name',
      () => authority.issue('other.example.com'),
      'certificate_wrong_name',
      'the certificate is for another host name',
    ],
    [
      'self-signed',
      () => authority.selfSigned(HOST),
      'certificate_self_signed',
      'the certificate is self-signed and not trusted',
    ],
  ])('with a certificate that is %s is refused with a clear message', async (_what, identity, code, words) => {
    const { outcome, receiver } = await sendTo(identity())
    expect(outcome).toMatchObject({ kind: 'failed', stage: 'tls', code })
    expect(failureText(outcome)).toBe(words)
    expect(receiver.requests).toEqual([])
  })

  test('is verified whatever the environment contains', async () => {
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    try {
      const { outcome } = await sendTo(authority.selfSigned(HOST))
      expect(outcome).toMatchObject({ kind: 'failed', stage: 'tls' })
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    }
  })

  test('to a server that speaks plain HTTP, or disconnects, fails as a value', async () => {
    const plain = await httpReceiver()
    const rude = await tcpReceiver((socket) => socket.resetAndDestroy())
    open.push(plain, rude)
    expect(await sendToPort(plain.port)).toMatchObject({ kind: 'failed', stage: 'tls', code: 'tls_failed' })
    expect(await sendToPort(rude.port)).toMatchObject({ kind: 'failed', code: 'reset' })
  })

  test('authorities are read at creation, and a file without any is refused then', () => {
    const make = (caFile: string) => createEgress({ allowPrivateTargets: false, caFile })
    expect(() => make('/nowhere/ca.pem')).toThrow('does not exist')
    expect(() => make(import.meta.filename)).toThrow('no certificate')
  })
})
