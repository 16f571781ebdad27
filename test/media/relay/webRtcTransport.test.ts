import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { systemRandom } from '../../../src/base/random.ts'
import { newCredentials } from '../../../src/media/relay/transport/iceLite.ts'
import type { Endpoint } from '../../../src/media/relay/transport/socket.ts'
import { WebRtcServer } from '../../../src/media/relay/transport/webRtcServer.ts'
import type { TransportEvents } from '../../../src/media/relay/transport/transportEvents.ts'
import { bindingRequest, parseBindingRequest } from '../../../src/media/relay/wire/stun.ts'
import { writeReceiverReport } from '../../../src/media/relay/wire/rtcp/rtcp.ts'
import { until } from '../../support/until.ts'
import { addressOf, identity, isAnswer, turn, type Wire, WirePeer } from '../../support/wirePeer.ts'

/** Of a certificate that no peer has. */
const OTHER = { algorithm: 'sha-256', value: 'AB:'.repeat(31) + 'AB' }
const START_MS = 1_750_000_000_000

/** One transport and its peer on a manual clock, and all that the transport sends and reports. */
function open(over: Partial<TransportEvents> = {}, fingerprints = [identity.fingerprint]) {
  const sent: { readonly datagram: Buffer; readonly to: Endpoint }[] = []
  const takers = new Map<number, (datagram: Buffer) => void>()
  const released: number[] = []
  const happened: string[] = []
  const server = new WebRtcServer({
    identity,
    random: systemRandom,
    now: () => wire.nowMs,
    later: (work) => work(),
    hosts: () => [],
    send: (datagram, to) => {
      sent.push({ datagram: Buffer.from(datagram), to })
      const take = takers.get(to.port)
      // As from a network: not in the middle of what sent it.
      if (take !== undefined) setImmediate(take, Buffer.from(datagram))
    },
    release: ({ port }) => released.push(port),
  })
  const wire: Wire & { nowMs: number } = {
    nowMs: START_MS,
    listen: ({ port }, take) => void takers.set(port, take),
    send: (datagram, from) => server.receive(Buffer.from(datagram), from, wire.nowMs),
  }
  const peer = new WirePeer(wire, addressOf(1))
  const { ufrag, pwd } = peer.names
  const offered = { iceUfrag: ufrag, icePwd: pwd, fingerprints, dtlsRole: 'server' as const }
  const transport = server.open(offered, wire.nowMs)
  transport.listen({
    connected: () => happened.push('connected'),
    rtp: () => happened.push('rtp'),
    rtcp: () => happened.push('rtcp'),
    closed: () => happened.push('closed'),
    ...over,
  })
  peer.remote = transport.credentials
  const checksTo = (port: number): number =>
    sent.filter(({ datagram, to }) => to.port === port && parseBindingRequest(datagram) !== null).length
  const answersTo = (port: number): number =>
    sent.filter(({ datagram, to }) => to.port === port && isAnswer(datagram)).length
  return { server, transport, wire, peer, sent, released, happened, checksTo, answersTo }
}

async function connected(over: Partial<TransportEvents> = {}) {
  const all = open(over)
  await all.peer.connect()
  await turn()
  return all
}

it('the credentials of a transport have 48 bits of name and 128 bits of password', () => {
  const [one, other] = [newCredentials(systemRandom), newCredentials(systemRandom)]
  expect([one.ufrag, one.pwd]).toEqual([
    expect.stringMatching(/^[0-9a-f]{12}$/) as string,
    expect.stringMatching(/^[0-9a-f]{32}$/) as string,
  ])
  expect(one).not.toEqual(other)
})

describe('a transport', () => {
  it('is connected when DTLS is done, and passes on media and feedback from then on', async () => {
    const { transport, peer, happened } = open()
    peer.sendFrame(1, true)
    expect([transport.isConnected, happened]).toEqual([false, []])
    await peer.connect()
    expect([transport.isConnected, transport.address, happened]).toEqual([true, '192.0.2.1', ['connected']])
    peer.sendFrame(2, true)
    peer.sendRtcp(writeReceiverReport(1))
    expect(happened).toEqual(['connected', 'rtp', 'rtp', 'rtcp'])
    expect(transport.bytesIn).toBeGreaterThan(2200)
  })

  it('does not open media of a peer that has none to send', async () => {
    const { transport, peer } = await connected({ rtp: null })
    peer.sendFrame(5, true)
    expect(transport.bytesIn).toBe(0)
    peer.sendRtcp(writeReceiverReport(1))
    expect(transport.bytesIn).toBeGreaterThan(0)
  })

  it('counts what it sends, and knows when it was connected', async () => {
    const { transport, wire, peer, sent } = open()
    expect([transport.seenAtMs, transport.mediaAtMs]).toEqual([START_MS, START_MS])
    wire.nowMs += 2000
    await peer.connect()
    await turn()
    expect([transport.seenAtMs, transport.mediaAtMs, transport.bytesOut]).toEqual([START_MS + 2000, START_MS + 2000, 0])
    const before = sent.length
    const head = { payloadType: 96, marker: true, index: 1, timestamp: 1, ssrc: 1 }
    for (let times = 0; times < 2; times++) transport.sendRtp(head, Buffer.alloc(100))
    transport.sendRtcp(writeReceiverReport(1))
    const bytes = sent.slice(before).reduce((sum, { datagram }) => sum + datagram.length, 0)
    expect([transport.bytesOut, bytes > 200]).toEqual([bytes, true])
  })

  it('takes feedback only from where its media goes, and no more than a peer has to say', async () => {
    const { wire, peer, happened, transport, checksTo } = await connected()
    peer.sendRtcp(writeReceiverReport(1), addressOf(9))
    expect(happened).toEqual(['connected'])
    for (let times = 0; times < 600; times++) peer.sendRtcp(writeReceiverReport(1))
    expect(happened.filter((event) => event === 'rtcp')).toHaveLength(500)
    // A peer that is silent may have another port; another peer's packet is none of it.
    const from = addressOf(2)
    expect(transport.mayBeAt(from, wire.nowMs + 200)).toBe(false)
    expect(transport.mayBeAt(from, wire.nowMs + 201)).toBe(true)
    for (const other of [addressOf(2, '192.0.2.2'), { ...from, via: 1 }])
      expect(transport.mayBeAt(other, wire.nowMs + 201)).toBe(false)
    for (const first of [0x80, 0x80]) {
      const stray = Buffer.alloc(60, first)
      stray[1] = 96
      expect(transport.receiveStray(stray, from, wire.nowMs + 201)).toBe(false)
    }
    expect(happened).not.toContain('rtp')
    wire.nowMs += 201
    peer.sendFrame(1, true, from)
    expect([happened.filter((event) => event === 'rtp').length, checksTo(2)]).toEqual([1, 1])
  })

  it('takes a replayed packet once', async () => {
    const { server, wire, peer, happened } = await connected()
    const seen: Buffer[] = []
    wire.send = (datagram, from) => {
      seen.push(Buffer.from(datagram))
      server.receive(Buffer.from(datagram), from, wire.nowMs)
    }
    peer.sendFrame(1, true)
    const [packet = Buffer.alloc(0)] = seen
    for (let times = 0; times < 3; times++) server.receive(Buffer.from(packet), peer.at, wire.nowMs)
    expect(happened.filter((event) => event === 'rtp')).toHaveLength(1)
  })

  it('ignores checks with another password, and answers its own', () => {
    const { transport, peer, sent, answersTo } = open()
    peer.remote = { ...transport.credentials, pwd: 'x'.repeat(32) }
    peer.check()
    expect(sent).toEqual([])
    peer.remote = transport.credentials
    peer.check()
    expect(answersTo(1)).toBe(1)
  })

  it('answers a peer that believes to be controlled with 487, within a bound', () => {
    const { transport, wire, peer, sent } = open()
    const { ufrag, pwd: password } = transport.credentials
    const username = `${ufrag}:${peer.names.ufrag}`
    for (let times = 0; times < 100; times++)
      wire.send(bindingRequest({ transactionId: randomBytes(12), username, password, controlled: true }), peer.at)
    expect(sent).toHaveLength(8)
    expect(sent[0]?.datagram.readUInt16BE(0)).toBe(0x0111)
    // ERROR-CODE 487 (RFC 8489 section 14.8).
    expect(sent[0]?.datagram.includes(Buffer.from([0, 0, 4, 87]))).toBe(true)
  })

  it('that is a client answers a peer that is controlled', () => {
    const { server, wire, peer, sent } = open()
    const remote = { iceUfrag: peer.names.ufrag, icePwd: peer.names.pwd, fingerprints: [identity.fingerprint] }
    const client = server.open({ ...remote, dtlsRole: 'server', peerCandidates: [peer.at] }, wire.nowMs)
    const { ufrag, pwd: password } = client.credentials
    const username = `${ufrag}:${peer.names.ufrag}`
    wire.send(bindingRequest({ transactionId: randomBytes(12), username, password, controlled: true }), peer.at)
    expect(sent.filter(({ datagram }) => isAnswer(datagram))).toHaveLength(1)
  })

  it('checks a silent peer after three seconds, and again after three more', async () => {
    const { transport, wire, peer, checksTo } = await connected()
    peer.answersChecks = false
    const before = checksTo(1)
    const tickUntil = (ms: number): number => {
      for (; wire.nowMs < START_MS + ms; wire.nowMs += 100) transport.tick(wire.nowMs)
      return checksTo(1) - before
    }
    expect([2900, 3200, 5900, 6200].map(tickUntil)).toEqual([0, 1, 1, 2])
  })

  it('sees that a peer is there by its media and its answers, not by its checks', async () => {
    const { transport, wire, peer } = await connected()
    wire.nowMs += 1000
    peer.answersChecks = false
    peer.check()
    await turn()
    expect(transport.seenAtMs).toBe(START_MS)
    peer.sendFrame(1, true)
    expect([transport.seenAtMs, transport.mediaAtMs]).toEqual([START_MS + 1000, START_MS + 1000])
    wire.nowMs += 4000
    peer.answersChecks = true
    transport.tick(wire.nowMs)
    await turn()
    expect([transport.seenAtMs, transport.mediaAtMs]).toEqual([START_MS + 5000, START_MS + 1000])
  })

  it('takes the credentials from before a restart until the next one', () => {
    const { server, transport, wire, peer, answersTo } = open()
    const all = [transport.credentials]
    for (let times = 0; times < 2; times++) {
      server.restart(transport, peer.names, wire.nowMs)
      all.push(transport.credentials)
    }
    const answers = all.map(({ ufrag, pwd: password }, at) => {
      // Each from an address of its own: answers to one that answers nothing are rare.
      const from = addressOf(10 + at)
      const username = `${ufrag}:${peer.names.ufrag}`
      const check = parseBindingRequest(bindingRequest({ transactionId: randomBytes(12), username, password }))
      if (check !== null) transport.receiveCheck(check, from, wire.nowMs)
      return answersTo(from.port)
    })
    expect(answers).toEqual([0, 1, 1])
  })

  it('says goodbye when it is closed, and sends and takes nothing after that', async () => {
    const { server, transport, peer, sent, released, happened } = await connected()
    server.close(transport)
    expect(sent.at(-1)?.datagram[0]).toBe(21)
    expect(released).toEqual([1])
    const [before, events] = [sent.length, happened.length]
    transport.sendRtp({ payloadType: 96, marker: true, index: 1, timestamp: 1, ssrc: 1 }, Buffer.alloc(100))
    transport.sendRtcp(writeReceiverReport(1))
    peer.check()
    peer.sendFrame(1, true)
    expect([sent.length, happened.length]).toEqual([before, events])
    server.close(transport)
    expect(sent).toHaveLength(before)
  })

  it('is closed when the peer has another certificate than its offer says', async () => {
    const { transport, peer, happened } = open({}, [OTHER])
    peer.check()
    await peer.shakeHands()
    await until(() => happened.length > 0)
    expect([happened, transport.isConnected]).toEqual([['closed'], false])
    peer.close()
  })

  it('is connected when the peer has one of several certificates of its offer (RFC 8122 section 5)', async () => {
    const { peer, happened } = open({}, [OTHER, identity.fingerprint])
    peer.check()
    await peer.shakeHands()
    await until(() => happened.length > 0)
    expect(happened).toEqual(['connected'])
    peer.close()
  })

  it('that is closed by what it received keeps no address', async () => {
    const { server, transport, wire, peer, released } = await connected({ rtp: () => server.close(transport) })
    wire.nowMs += 1000
    // From another port of its host, as a router that forgot the old one would have it.
    peer.sendFrame(1, true, addressOf(2))
    expect(released).toEqual([1])
    // An address that a transport keeps is released with it, and only then.
    server.close(transport)
    expect(released).toEqual([1])
  })
})
