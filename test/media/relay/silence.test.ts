import { describe, expect, it } from 'vitest'
import { writeReceiverReport } from '../../../src/media/relay/wire/rtcp/rtcp.ts'
import { addressOf, WireNet, WirePeer } from '../../support/wirePeer.ts'

const FRAME_MS = 40

/** A publisher and its viewer, both on the air. A peer answers nothing while its network is away. */
async function onAir(over: ConstructorParameters<typeof WireNet>[0] = {}) {
  const net = new WireNet(over)
  const [publisher, viewer] = [new WirePeer(net, addressOf(1)), new WirePeer(net, addressOf(2))]
  publisher.publish(net.relay, 'publisher')
  await publisher.connect()
  publisher.sendFrame(3, true)
  viewer.view(net.relay, 'viewer')
  await viewer.connect()
  let reports = 0
  const publish = (passed: number, from = publisher): void => {
    if (passed % FRAME_MS === 0) from.sendFrame(3, passed % 1000 === 0)
  }
  const report = (passed: number): void => {
    if (passed % 1000 === 0) viewer.sendRtcp(writeReceiverReport(++reports))
  }
  return { net, publisher, viewer, publish, report }
}

describe('a publisher whose network is away', () => {
  it('was gone after four seconds; it goes on when it is back, and its viewer with it', async () => {
    const { net, publisher, viewer, publish, report } = await onAir()
    publisher.answersChecks = false
    await net.pass(14_000, report)
    expect(net.endOf('publisher')).toBeUndefined()
    publisher.answersChecks = true
    const before = viewer.media.length
    await net.pass(1000, (passed) => {
      publish(passed)
      report(passed)
    })
    expect(viewer.media.length - before).toBeGreaterThan(60)
    expect([net.endOf('publisher'), net.endOf('viewer')]).toEqual([undefined, undefined])
  })

  it('is gone after as long as is configured, and the last count says when its media ended', async () => {
    const { net, publisher, publish, report } = await onAir({ publisherSilentMs: 8000 })
    await net.pass(2000, publish)
    publisher.answersChecks = false
    await net.pass(7900, report)
    expect(net.endOf('publisher')).toBeUndefined()
    await net.pass(500, report)
    expect(net.endOf('publisher')).toMatchObject({ reason: 'lost' })
    const counts = net.events.filter((event) => event.kind === 'bytes' && event.sessionId === 'publisher')
    const silences = counts.flatMap((event) => (event.kind === 'bytes' ? event.silentMs : []))
    expect(Math.max(...silences.slice(0, 2))).toBeLessThan(100)
    expect(Math.max(...silences)).toBeGreaterThan(5000)
  })

  it('that comes back as another session takes its place at once, and the viewer goes on', async () => {
    const { net, publisher, viewer, publish, report } = await onAir()
    await net.pass(1000, publish)
    publisher.answersChecks = false
    await net.pass(5000, report)
    const second = new WirePeer(net, addressOf(3))
    second.publish(net.relay, 'second')
    await second.connect()
    expect(net.endOf('publisher')).toMatchObject({ reason: 'replaced' })
    second.sendFrame(3, true)
    const before = viewer.media.length
    await net.pass(1000, (passed) => publish(passed, second))
    expect(viewer.media.length - before).toBeGreaterThan(60)
    expect(net.endOf('viewer')).toBeUndefined()
  })

  it('restarts ICE after the six seconds in which a browser notices', async () => {
    const { net, publisher, viewer, publish, report } = await onAir()
    publisher.answersChecks = false
    await net.pass(7000, report)
    publisher.answersChecks = true
    const names = { ufrag: 'newname2', pwd: 'abcdefghijklmnopqrstuvwx' }
    const patched = net.relay.patch('publisher', `a=ice-ufrag:${names.ufrag}\r\na=ice-pwd:${names.pwd}\r\n`, true)
    if (!patched.ok || patched.answer === null) throw new Error('no restart')
    const found = (pattern: RegExp): string => pattern.exec(patched.answer ?? '')?.[1] ?? ''
    publisher.names = names
    publisher.remote = { ufrag: found(/a=ice-ufrag:(\S+)/), pwd: found(/a=ice-pwd:(\S+)/) }
    publisher.at = addressOf(8)
    publisher.hear(publisher.at)
    publisher.check()
    const [before, reports] = [viewer.media.length, publisher.control.length]
    await net.pass(2000, publish)
    expect(viewer.media.length - before).toBeGreaterThan(120)
    expect(publisher.control.length).toBeGreaterThan(reports)
  })
})

describe('a viewer', () => {
  it('whose network is away for half a minute goes on, and is gone after that', async () => {
    const { net, viewer, publish } = await onAir()
    viewer.answersChecks = false
    await net.pass(29_000, publish)
    expect(net.endOf('viewer')).toBeUndefined()
    viewer.sendRtcp(writeReceiverReport(1))
    await net.pass(29_000, publish)
    expect(net.endOf('viewer')).toBeUndefined()
    await net.pass(2000, publish)
    expect(net.endOf('viewer')).toMatchObject({ reason: 'lost' })
  })
})

describe('checks', () => {
  it('kept sessions alive for ever, from any address', async () => {
    const { net, publisher, viewer } = await onAir()
    for (const transport of [publisher, viewer]) transport.answersChecks = false
    await net.pass(32_000, (passed) => {
      if (passed % 500 === 0) for (const transport of [publisher, viewer]) transport.check()
    })
    expect(net.endOf('publisher')).toMatchObject({ reason: 'lost' })
    expect(net.endOf('viewer')).toBeDefined()
  })

  it('that are answered elsewhere kept media going to an address that answers no more', async () => {
    const { net, viewer, publish } = await onAir()
    const own = addressOf(7)
    viewer.hear(own)
    viewer.deafAt.add(viewer.at.port)
    await net.pass(32_000, (passed) => {
      publish(passed)
      if (passed % 500 === 0) viewer.check({ from: own, useCandidate: false })
    })
    expect(net.endOf('viewer')).toMatchObject({ reason: 'lost' })
  })

  it('that are answered keep a peer that has nothing to say', async () => {
    const { net } = await onAir()
    await net.pass(60_000)
    expect([net.endOf('publisher'), net.endOf('viewer')]).toEqual([undefined, undefined])
  })
})
