import { describe, expect, it, onTestFinished } from 'vitest'
import { writeNack, writePli, writeReceiverReport } from '../../../src/media/relay/wire/rtcp/rtcp.ts'
import { bindingSuccess, parseBindingRequest } from '../../../src/media/relay/wire/stun.ts'
import { FIRST_VIA } from '../../../src/media/relay/transport/tcp.ts'
import { until } from '../../support/until.ts'
import { onAir } from './onAir.ts'
import { addressOf, isAnswer, turn, WireNet, WirePeer } from '../../support/wirePeer.ts'

const VICTIM = addressOf(9, '203.0.113.66')
/** No datagram is larger than this before an address has proved that it hears us. */
const SMALL = 200

async function broadcast() {
  const running = await onAir({ firstFrame: 5, keyEveryMs: 2000 })
  const { net, publish, report } = running
  /** The broadcast goes on, and the viewer reports. */
  const goOn = (ms: number, act: (passedMs: number) => void = () => undefined) =>
    net.pass(ms, (passed) => {
      publish(passed)
      report(passed)
      act(passed)
    })
  return { ...running, goOn }
}

describe('an address that answers nothing', () => {
  it('got all media of a viewer whose checks were said to come from there', async () => {
    const { net, viewer, goOn } = await broadcast()
    const before = net.bytesTo(viewer.at)
    await goOn(30_000, (passed) => {
      if (passed % 200 === 0) viewer.check({ from: VICTIM })
    })
    expect(net.sentTo(VICTIM).length).toBeLessThanOrEqual(14)
    expect(Math.max(...net.sentTo(VICTIM).map(({ length }) => length))).toBeLessThanOrEqual(SMALL)
    expect(net.bytesTo(viewer.at) - before).toBeGreaterThan(1_000_000)
    expect(net.endOf('viewer')).toBeUndefined()
  })

  it('gets as little when there are very many of them', async () => {
    const { net, viewer, goOn } = await broadcast()
    const victims = Array.from({ length: 500 }, (_, at) => addressOf(1000 + at, '203.0.113.77'))
    await goOn(30_000, (passed) => {
      for (const from of victims.slice(0, 20)) viewer.check({ from: victims[passed % 500] ?? from })
    })
    const bytes = victims.reduce((sum, at) => sum + net.bytesTo(at), 0)
    // One more answer and check of ours each quarter of a second, wherever they go.
    expect(bytes).toBeLessThan((60 + 30 * 4) * 2 * SMALL)
  })

  it('gets no certificate for a handshake that was begun in its name', async () => {
    const net = new WireNet()
    const publisher = new WirePeer(net, addressOf(1))
    // Its handshake gets no end, and would go on beside the tests of other files.
    onTestFinished(() => publisher.close())
    publisher.answersChecks = false
    publisher.publish(net.relay, 'publisher')
    publisher.check({ from: VICTIM })
    publisher.at = VICTIM
    await publisher.shakeHands()
    await net.pass(3000)
    expect(net.sentTo(VICTIM).length).toBeLessThanOrEqual(10)
    expect(Math.max(...net.sentTo(VICTIM).map(({ length }) => length))).toBeLessThanOrEqual(SMALL)
  })

  it('gets no certificate for a cookie that was read elsewhere', async () => {
    const net = new WireNet()
    const publisher = new WirePeer(net, addressOf(1))
    // Its handshake gets no end, and would go on beside the tests of other files.
    onTestFinished(() => publisher.close())
    publisher.answersChecks = false
    publisher.publish(net.relay, 'publisher')
    for (const from of [publisher.at, VICTIM]) publisher.check({ from, useCandidate: false })
    // It hears at its own address, and says everything in the name of the other one after the cookie came.
    const own = publisher.at
    await publisher.shakeHands()
    publisher.at = VICTIM
    await until(() => net.sentTo(own).some((datagram) => datagram[0] === 22))
    await net.pass(3000)
    for (const at of [own, VICTIM])
      expect(Math.max(...net.sentTo(at).map(({ length }) => length))).toBeLessThanOrEqual(SMALL)
  })

  it('gets nothing for answers that were made up, or made elsewhere', async () => {
    const { net, viewer, goOn } = await broadcast()
    viewer.check({ from: VICTIM })
    const asked = net.sentTo(VICTIM).flatMap((datagram) => parseBindingRequest(datagram) ?? [])
    expect(asked).toHaveLength(1)
    const [request] = asked
    const answer = (id: Buffer, password = viewer.names.pwd): Buffer =>
      bindingSuccess(id, '198.51.100.1', 8081, password)
    const right = request?.transactionId ?? Buffer.alloc(12)
    const guess = Buffer.from(right)
    guess[11] = (guess[11] ?? 0) ^ 1
    net.send(answer(guess), VICTIM)
    net.send(answer(right, 'not the password of the viewer'), VICTIM)
    net.send(answer(right), viewer.at)
    const before = net.sentTo(VICTIM).length
    await goOn(1000)
    expect(net.sentTo(VICTIM)).toHaveLength(before)
    net.send(answer(right), VICTIM)
    await goOn(1000)
    expect(net.sentTo(VICTIM).length).toBeGreaterThan(before + 50)
  })

  it('is sent less than was said in its name', async () => {
    const { net, viewer } = await broadcast()
    const before = net.sentTo(viewer.at).length
    viewer.check()
    const answers = net.sentTo(viewer.at).slice(before).filter(isAnswer)
    expect(answers.length).toBe(1)
    const shortest = 20 + 4 + 24 + 24 + 8
    expect(answers[0]?.length).toBeLessThanOrEqual(shortest)
  })
})

describe('a peer that moves', () => {
  it('has its media at the new address as soon as that has answered', async () => {
    const { net, viewer, goOn } = await broadcast()
    const moved = addressOf(7, '192.0.2.8')
    viewer.hear(moved)
    viewer.check({ from: moved })
    viewer.at = moved
    await turn()
    const old = net.bytesTo(addressOf(2))
    await goOn(1000)
    expect(net.bytesTo(moved)).toBeGreaterThan(50_000)
    expect(net.bytesTo(addressOf(2))).toBe(old)
  })

  it('moves when its new names come, though it has used them before', async () => {
    const { net, viewer, goOn } = await broadcast()
    const moved = addressOf(7, '192.0.2.8')
    viewer.hear(moved)
    const names = { ufrag: 'newname1', pwd: 'a password of more than 22' }
    viewer.check({ from: moved, names })
    await turn()
    await goOn(500)
    expect(net.sentTo(moved).every(isAnswer)).toBe(true)
    viewer.names = names
    viewer.at = moved
    const restart = `a=ice-ufrag:${names.ufrag}\r\na=ice-pwd:${names.pwd.replaceAll(' ', '+')}\r\n`
    viewer.names = { ...names, pwd: names.pwd.replaceAll(' ', '+') }
    expect(net.relay.patch('viewer', restart, true)).toMatchObject({ ok: true })
    await turn()
    await goOn(500)
    expect(net.bytesTo(moved)).toBeGreaterThan(20_000)
  })

  it('without knowing it, because its router gave it another port, was without media until its next check', async () => {
    const { net, publisher, viewer } = await broadcast()
    await net.pass(400)
    const [away, gone] = [addressOf(17), addressOf(18)]
    publisher.hear(away)
    publisher.sendFrame(3, true, away)
    await turn()
    publisher.at = away
    viewer.hear(gone)
    viewer.sendRtcp(writeReceiverReport(1), gone)
    viewer.at = gone
    await turn()
    const [before, reports] = [net.bytesTo(gone), net.bytesTo(away)]
    await net.pass(1000, (passed) => {
      if (passed % 40 === 0) publisher.sendFrame(3, false)
    })
    expect(net.bytesTo(gone) - before).toBeGreaterThan(60_000)
    expect(net.bytesTo(away)).toBeGreaterThan(reports)
  })

  it('is not looked for at other ports while it is heard where it was, nor at another host', async () => {
    const { net, viewer, goOn } = await broadcast()
    await goOn(400)
    viewer.sendRtcp(writeReceiverReport(100))
    for (const from of [addressOf(18), addressOf(2, '192.0.2.9')]) {
      viewer.sendRtcp(writeReceiverReport(101), from)
      await goOn(400)
      viewer.sendRtcp(writeReceiverReport(102), from)
      expect(net.sentTo(addressOf(2, '192.0.2.9'))).toEqual([])
    }
    expect(net.sentTo(addressOf(18)).length).toBeLessThanOrEqual(1)
  })

  it('is checked again when it comes back to an address of long ago', async () => {
    const { net, viewer, goOn } = await broadcast()
    const [home, away] = [viewer.at, addressOf(7, '192.0.2.8')]
    viewer.hear(away)
    viewer.check({ from: away })
    viewer.at = away
    await turn()
    await goOn(10_000)
    const before = net.bytesTo(home)
    viewer.answersChecks = false
    viewer.check({ from: home })
    await goOn(5000)
    expect(net.bytesTo(home) - before).toBeLessThan(10 * SMALL)
  })

  it('is heard from where it is, and what it asks for from elsewhere does not count', async () => {
    const { net, publisher, viewer, goOn } = await broadcast()
    await goOn(2000)
    const [ssrc = 0] = viewer.ssrcs
    const other = addressOf(7, '192.0.2.8')
    viewer.check({ from: other, useCandidate: false })
    const latest = viewer.media.findLast((packet) => packet.readUInt32BE(8) === ssrc)?.readUInt16BE(2) ?? 0
    const wish = Buffer.concat([writeReceiverReport(1), writePli(1, ssrc), writeNack(1, ssrc, [latest])])
    const [asked, sent] = [publisher.asked, net.sentTo(viewer.at).length]
    viewer.sendRtcp(wish, other)
    await turn()
    expect([publisher.asked, net.sentTo(viewer.at).length]).toEqual([asked, sent])
    viewer.sendRtcp(wish)
    await turn()
    expect(publisher.asked).toBe(asked + 1)
    expect(net.sentTo(viewer.at)).toHaveLength(sent + 1)
  })
})

describe('a peer that answers no checks', () => {
  it('is served where its handshake came from, which proves that it receives our packets', async () => {
    const net = new WireNet()
    const [publisher, viewer] = [new WirePeer(net, addressOf(1)), new WirePeer(net, addressOf(2))]
    for (const transport of [publisher, viewer]) transport.answersChecks = false
    publisher.publish(net.relay, 'publisher')
    await publisher.connect()
    publisher.sendFrame(5, true)
    viewer.view(net.relay, 'viewer')
    await viewer.connect()
    await net.pass(1000, (passed) => {
      if (passed % 40 === 0) publisher.sendFrame(3, true)
    })
    expect(viewer.media.length).toBeGreaterThan(50)
  })

  it('is served over TCP, whose handshake is proof enough', async () => {
    const net = new WireNet()
    const viewer = new WirePeer(net, { ...addressOf(2), via: FIRST_VIA })
    viewer.answersChecks = false
    viewer.publish(net.relay, 'publisher')
    viewer.check()
    expect(net.sentTo(viewer.at)).toHaveLength(1)
    await viewer.shakeHands()
    await until(() => net.events.some(({ kind }) => kind === 'connected'))
  })
})

it('any viewer could cut off a publisher, with checks of its own in the name of the publisher’s address', async () => {
  const { publisher, viewer, goOn } = await broadcast()
  await goOn(1000)
  const before = viewer.media.length
  await goOn(1000, () => viewer.check({ from: publisher.at }))
  expect(viewer.media.length - before).toBeGreaterThan(60)
})
