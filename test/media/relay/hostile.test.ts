import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemRandom } from '../../../src/base/random.ts'
import { createIdentity } from '../../../src/media/relay/transport/dtls.ts'
import { Relay, type RelayOptions } from '../../../src/media/relay/relay.ts'
import { bindingRequest } from '../../../src/media/relay/wire/stun.ts'
import { TestPublisher } from '../../support/rtcPeer.ts'

const identity = await createIdentity()

const raise = (error: unknown): never => {
  throw error
}

/** A relay with one publisher that has been answered, and what it sends. `options` take the place of its own. */
async function relayWithPublisher(options: Partial<RelayOptions> = {}) {
  const sent: Uint8Array[] = []
  const clock = { nowMs: 1_750_000_000_000 }
  const relay = new Relay({
    identity,
    random: systemRandom,
    now: () => clock.nowMs,
    later: (work) => work(),
    hosts: () => [{ transport: 'udp', address: '127.0.0.1', port: 9 }],
    maxBitrate: 1_000_000,
    maxSessions: 2,
    publisherSilentMs: 15_000,
    send: (datagram) => sent.push(datagram),
    want: () => undefined,
    release: () => undefined,
    fault: raise,
    emit: () => undefined,
    ...options,
  })
  const publisher = new TestPublisher()
  const offer = await publisher.offer()
  const answer = relay.publish({ sessionId: 's', room: 'a/b', sourceId: null, offer, codec: null })
  await publisher.close()
  const sdp = answer.ok ? answer.answer : ''
  const [ufrag, remote] = [sdp, offer].map((text) => /a=ice-ufrag:(\S+)/.exec(text)?.[1] ?? '')
  const password = /a=ice-pwd:(\S+)/.exec(sdp)?.[1] ?? ''
  return { relay, sent, clock, offer, username: `${ufrag}:${remote}`, password }
}

const from = { address: '192.0.2.1', port: 4000, via: 0 }
const bytes = fc.uint8Array({ maxLength: 200, size: 'max' })

test('a peer that did not see the answer gets nothing back, whatever it sends', async () => {
  const { relay, sent, username } = await relayWithPublisher()
  const password = 'a guess of the wrong kind'
  const check = bindingRequest({ transactionId: Buffer.alloc(12, 1), username, password, useCandidate: true })
  relay.receive(check, from)
  fc.assert(fc.property(bytes, (datagram) => relay.receive(Buffer.from(datagram), from)))
  const first = fc.constantFrom(0, 1, 20, 22, 63, 128, 191)
  fc.assert(fc.property(first, bytes, (byte, rest) => relay.receive(Buffer.from([byte, ...rest]), from)))
  relay.tick()
  expect(sent).toEqual([])
})

test('garbage from a peer that may send is passed over, and its checks are answered as before', async () => {
  const { relay, sent, clock, username, password } = await relayWithPublisher()
  const check = bindingRequest({ transactionId: Buffer.alloc(12, 1), username, password, useCandidate: true })
  relay.receive(check, from)
  // The answer, and a check of ours: whether the address hears us.
  expect(sent).toHaveLength(2)
  const record = fc.tuple(fc.constantFrom(20, 21, 22, 23), bytes, bytes)
  fc.assert(
    fc.property(record, ([type, body, more]) => {
      const header = Buffer.from([type, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, body.length])
      relay.receive(Buffer.concat([header, body, more]), from)
    }),
  )
  fc.assert(fc.property(bytes, (rest) => relay.receive(Buffer.from([0x80, 96, ...rest]), from)))
  const before = sent.length
  clock.nowMs += 5000
  relay.receive(check, from)
  expect(sent).toHaveLength(before + 2)
})

test('from port 0 nothing is taken: nothing can be sent there', async () => {
  const { relay, sent, username, password } = await relayWithPublisher()
  const check = bindingRequest({ transactionId: Buffer.alloc(12, 1), username, password, useCandidate: true })
  relay.receive(check, { ...from, port: 0 })
  expect(sent).toEqual([])
})

test('sessions above the limit are refused with 503', async () => {
  const { relay, offer } = await relayWithPublisher()
  const publish = (sessionId: string) => relay.publish({ sessionId, room: 'a/c', sourceId: null, offer, codec: null })
  expect(publish('t')).toMatchObject({ ok: true })
  expect(publish('u')).toMatchObject({ ok: false, status: 503 })
})

test('a fault in what one peer leads to ends its session and is told, and the others go on', async () => {
  const [faults, ended]: [unknown[], unknown[]] = [[], []]
  const fault = new Error('nothing can be sent there')
  let isBroken = false
  const { relay, clock, offer, username, password } = await relayWithPublisher({
    send: () => isBroken && raise(fault),
    fault: (error) => faults.push(error),
    emit: (event) => event.kind === 'ended' && ended.push(event),
  })
  expect(relay.publish({ sessionId: 'other', room: 'a/b', sourceId: null, offer, codec: null }).ok).toBe(true)
  const check = (id: number) =>
    bindingRequest({ transactionId: Buffer.alloc(12, id), username, password, useCandidate: true })
  relay.receive(check(1), from)
  isBroken = true
  clock.nowMs += 1000
  relay.receive(check(2), from)
  relay.tick()
  expect(faults).toContain(fault)
  expect(ended).toEqual([{ kind: 'ended', sessionId: 's', reason: 'lost' }])
  expect(relay.patch('s', '', true)).toMatchObject({ status: 404 })
  expect(relay.patch('other', '', true)).toMatchObject({ status: 400 })
})
