import { describe, expect, it } from 'vitest'
import type { MediaEngineEvent } from '../../../src/media/engine.ts'
import {
  parseRtcp,
  writeFir,
  writeNack,
  writePli,
  writeReceiverReport,
} from '../../../src/media/relay/wire/rtcp/rtcp.ts'
import { middleOf, ntpOf } from '../../../src/media/relay/wire/ntp.ts'
import { onAir } from './onAir.ts'
import { addressOf, turn, WireNet, WirePeer } from '../../support/wirePeer.ts'

async function broadcast() {
  const running = await onAir()
  const { net } = running
  const bytesOf = (sessionId: string) =>
    net.events.flatMap((event) => (event.kind === 'bytes' && event.sessionId === sessionId ? [event] : []))
  return { ...running, bytesOf }
}

describe('a session', () => {
  it('of a publisher ends after 15 s of silence, not before', async () => {
    const { net, publisher, report } = await broadcast()
    publisher.answersChecks = false
    await net.pass(14_900, report)
    expect(net.endOf('publisher')).toBeUndefined()
    await net.pass(400, report)
    expect(net.endOf('publisher')).toMatchObject({ reason: 'lost' })
  })

  it('of a viewer ends after 30 s of silence, not before', async () => {
    const { net, viewer, publish } = await broadcast()
    viewer.answersChecks = false
    await net.pass(29_800, publish)
    expect(net.endOf('viewer')).toBeUndefined()
    await net.pass(500, publish)
    expect(net.endOf('viewer')).toMatchObject({ reason: 'lost' })
  })

  it('that never connects ends after 10 s, not before', async () => {
    const net = new WireNet()
    const peer = new WirePeer(net, addressOf(1))
    peer.publish(net.relay, 'publisher')
    await net.pass(9900)
    expect(net.endOf('publisher')).toBeUndefined()
    await net.pass(400)
    expect(net.endOf('publisher')).toMatchObject({ reason: 'never_connected' })
  })

  it('goes on after a pause of the process in the middle of its handshake', async () => {
    const net = new WireNet()
    const peer = new WirePeer(net, addressOf(1))
    peer.publish(net.relay, 'publisher')
    const connected = peer.connect()
    await turn()
    expect(net.events).toEqual([])
    net.nowMs += 60_000
    net.relay.tick()
    expect(net.endOf('publisher')).toBeUndefined()
    await connected
    await net.pass(9000)
    expect(net.endOf('publisher')).toBeUndefined()
  })

  it('has 10 s from its answer on, which a busy main process may hold back', async () => {
    const net = new WireNet()
    const peer = new WirePeer(net, addressOf(1))
    const offer = peer.offer('sendonly')
    for (const sessionId of ['answered', 'forgotten'])
      net.relay.publish({ sessionId, room: `a/${sessionId}`, sourceId: null, offer, codec: null })
    await net.pass(30_000)
    net.relay.answered('answered')
    await net.pass(9900)
    expect(net.endOf('answered')).toBeUndefined()
    await net.pass(400)
    expect(net.endOf('answered')).toMatchObject({ reason: 'never_connected' })
    expect(net.endOf('forgotten')).toBeUndefined()
    await net.pass(20_000)
    expect(net.endOf('forgotten')).toMatchObject({ reason: 'never_connected' })
  })

  it('of a viewer ends 10 s after its publisher has gone, if no other comes', async () => {
    const { net, viewer, report } = await broadcast()
    net.relay.end('publisher')
    await net.pass(9900, report)
    expect(net.endOf('viewer')).toBeUndefined()
    await net.pass(400, report)
    expect(net.endOf('viewer')).toMatchObject({ reason: 'source_gone' })
    const goodbyes = viewer.control
      .flatMap((compound) => parseRtcp(compound) ?? [])
      .filter(({ kind }) => kind === 'bye')
    expect(goodbyes).toEqual([{ kind: 'bye', ssrcs: viewer.ssrcs.slice(0, 1) }])
  })

  it('ends once, and sends nothing after that', async () => {
    const { net, publisher, viewer } = await broadcast()
    for (let times = 0; times < 2; times++) net.relay.end('viewer')
    const sent = net.sentTo(viewer.at).length
    publisher.sendFrame(3, true)
    viewer.check()
    viewer.sendRtcp(writeReceiverReport(1))
    await net.pass(1000)
    expect(net.sentTo(viewer.at)).toHaveLength(sent)
    expect(net.events.filter((event) => event.kind === 'ended' && event.sessionId === 'viewer')).toHaveLength(1)
  })

  it('that ends with others gets no media after the end of the first of them', async () => {
    const ended: string[] = []
    const emit = (event: MediaEngineEvent): void => {
      if (event.kind !== 'ended') return
      ended.push(event.sessionId)
      publisher.sendFrame(3, true)
    }
    const { net, publisher, viewer } = await onAir({ net: { emit } })
    const second = new WirePeer(net, addressOf(9))
    second.view(net.relay, 'second')
    await second.connect()
    publisher.sendFrame(3, true)
    await net.pass(100)
    const got = [viewer.media.length, second.media.length]
    net.relay.endTogether(['viewer', 'second', 'unknown'])
    await turn()
    expect(ended).toEqual(['viewer', 'second'])
    expect([viewer.media.length, second.media.length]).toEqual(got)
    expect(got).not.toContain(0)
  })

  it('has no media of a publisher that is not there', async () => {
    const net = new WireNet()
    const viewer = new WirePeer(net, addressOf(1))
    expect(() => viewer.view(net.relay, 'viewer')).toThrow('Stream not being published')
    expect(net.events).toEqual([])
  })
})

describe('a publisher and its viewer', () => {
  it('lose nothing but what waited for too long in the socket, up to the next keyframe', async () => {
    const { net, publisher, viewer } = await broadcast()
    const receive = net.relay.receive.bind(net.relay)
    let waitedMs = 0
    net.relay.receive = (datagram, from) => receive(datagram, from, waitedMs)
    const send = async (isKey: boolean): Promise<number> => {
      const before = viewer.media.length
      publisher.sendFrame(3, isKey)
      await net.pass(40)
      return viewer.media.length - before
    }
    net.relay.waits()
    expect(await send(false)).toBe(3)
    waitedMs = 301
    expect([await send(false), await send(true)]).toEqual([0, 0])
    expect(net.relay.waits()).toMatchObject({ mostMs: 301, late: 6 })
    waitedMs = 300
    expect([await send(false), await send(true), await send(false)]).toEqual([0, 3, 3])
    expect(net.relay.waits()).toMatchObject({ mostMs: 300, late: 0 })
  })

  it('are counted by what the viewer reports, from look to look', async () => {
    const { net, viewer, publish } = await broadcast()
    await net.pass(100, publish)
    const [first, ...others] = net.relay.feedback()
    expect([first?.firstPacketsMs.length, others]).toEqual([1, []])
    expect(net.relay.feedback()).toEqual([])
    const [ssrc = 0] = viewer.ssrcs
    const reported = (highestSequence: number, packetsLost: number, lastReport: number) =>
      writeReceiverReport(1, [
        { ssrc, fractionLost: 0, packetsLost, highestSequence, jitter: 0, lastReport, delaySinceLastReport: 0 },
      ])
    const wishes = [writeNack(1, ssrc, [1, 2, 3]), writePli(1, ssrc), writeFir(1, ssrc, 7)]
    viewer.sendRtcp(Buffer.concat([reported(100, 0, 0), ...wishes]))
    await net.pass(1000, publish)
    viewer.sendRtcp(reported(200, 25, middleOf(ntpOf(net.nowMs - 80))))
    const [said] = net.relay.feedback()
    expect(said).toMatchObject({
      room: first?.room,
      nacks: 3,
      keyframeRequests: 2,
      lossShare: 0.25,
      firstPacketsMs: [],
    })
    expect(said?.roundTripMs).toBeCloseTo(80, 0)
  })

  it('are reported with their addresses and tracks when they are connected', async () => {
    const { net, viewer } = await broadcast()
    expect(net.events.filter(({ kind }) => kind !== 'bytes')).toEqual([
      { kind: 'connected', sessionId: 'publisher', address: '192.0.2.1' },
      { kind: 'tracks', sessionId: 'publisher', tracks: [expect.objectContaining({ kind: 'video', codec: 'vp8' })] },
      { kind: 'connected', sessionId: 'viewer', address: '192.0.2.1' },
    ])
    const audio = 'm=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=mid:1\r\na=recvonly\r\na=rtcp-mux\r\n'
    const video = viewer.offer('recvonly').replace('BUNDLE 0', 'BUNDLE 0 1')
    const offer = `${video}${audio}a=rtpmap:111 opus/48000/2\r\n`
    const answer = net.relay.view({ sessionId: 'with audio', room: 'a/show', sourceId: null, offer })
    expect(answer.ok ? answer.answer.match(/a=(sendonly|inactive)/g) : answer).toEqual(['a=sendonly', 'a=inactive'])
    net.relay.end('with audio')
  })
})

describe('byte counts', () => {
  it('are reported each second while media flows, as totals, and once more at the end', async () => {
    const { net, publish, bytesOf } = await broadcast()
    const before = bytesOf('publisher').length
    await net.pass(5000, publish)
    const counts = bytesOf('publisher').map(({ bytesIn }) => bytesIn)
    expect(counts.length - before).toBe(5)
    expect(counts.toSorted((a, b) => a - b)).toEqual(counts)
    publish(0)
    net.relay.end('publisher')
    const ends = net.events.findIndex((event) => event.kind === 'ended')
    expect(net.events[ends - 1]).toMatchObject({ kind: 'bytes', sessionId: 'publisher' })
    expect(bytesOf('publisher').at(-1)?.bytesIn).toBeGreaterThan(counts.at(-1) ?? 0)
  })

  it('of idle sessions were reported each second', async () => {
    const net = new WireNet()
    const publisher = new WirePeer(net, addressOf(1))
    publisher.publish(net.relay, 'publisher')
    await publisher.connect()
    await net.pass(10_000)
    expect(net.events.filter(({ kind }) => kind === 'bytes')).toEqual([])
    publisher.sendRtcp(writeReceiverReport(1))
    await net.pass(10_000)
    expect(net.events.filter(({ kind }) => kind === 'bytes')).toHaveLength(1)
  })
})

describe('ICE', () => {
  const [ufrag, pwd] = ['newname3', 'abcdefghijklmnopqrstuvwx']
  const restart = `a=ice-ufrag:${ufrag}\r\na=ice-pwd:${pwd}\r\n`

  it('restarts only with the ETag, and answers with new credentials and the bundled m-line', async () => {
    const { net, publisher } = await broadcast()
    expect(net.relay.patch('publisher', restart, false)).toMatchObject({ ok: false, status: 428 })
    const patched = net.relay.patch('publisher', restart, true)
    expect(patched).toMatchObject({ ok: true, etag: ufrag })
    const answer = patched.ok ? (patched.answer ?? '') : ''
    expect(answer).toContain('m=video 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\n')
    expect(answer).toContain('198.51.100.1 8081 typ host')
    expect(answer).not.toContain(publisher.remote.ufrag)
    expect(net.relay.patch('publisher', restart, false)).toEqual({ ok: true, answer: null, etag: ufrag })
    expect(net.relay.patch('nobody', restart, true)).toMatchObject({ ok: false, status: 404 })
  })

  it('takes candidates of the current session and needs none of them', async () => {
    const { net, publisher } = await broadcast()
    const trickled = `a=ice-ufrag:${publisher.names.ufrag}\r\na=ice-pwd:${publisher.names.pwd}\r\na=end-of-candidates\r\n`
    const sent = net.sentTo(publisher.at).length
    expect(net.relay.patch('publisher', trickled, false)).toMatchObject({ ok: true, answer: null })
    await turn()
    expect(net.sentTo(publisher.at)).toHaveLength(sent)
  })
})

describe('frames', () => {
  it('of a session without a publisher end at once', async () => {
    const { net } = await broadcast()
    const ends: string[] = []
    const sink = (name: string) => ({
      tracks: () => undefined,
      frame: () => undefined,
      end: () => void ends.push(name),
    })
    net.relay.tap('nobody', sink('nobody'))
    net.relay.tap('viewer', sink('viewer'))
    net.relay.tap('publisher', sink('publisher'))
    expect(ends).toEqual(['nobody', 'viewer'])
  })
})
