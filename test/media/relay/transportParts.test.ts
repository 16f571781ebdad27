import { describe, expect, it } from 'vitest'
import { Demultiplexer } from '../../../src/media/relay/transport/demultiplexer.ts'
import { Paths, ufragOf } from '../../../src/media/relay/transport/paths.ts'
import type { Endpoint } from '../../../src/media/relay/transport/socket.ts'
import { endpointKeyOf, TransportTable } from '../../../src/media/relay/transport/transportTable.ts'
import type { WebRtcTransport } from '../../../src/media/relay/transport/webRtcTransport.ts'
import { addressBytes } from '../../../src/media/relay/wire/address.ts'
import { leastTime } from '../../../src/media/relay/wire/leastTime.ts'
import { middleOf, ntpOf, roundTripOf, wallOf } from '../../../src/media/relay/wire/ntp.ts'
import { bindingSuccess, parseBindingRequest, parseBindingSuccess } from '../../../src/media/relay/wire/stun.ts'

const at = (port: number, over: Partial<Endpoint> = {}): Endpoint => ({ address: '192.0.2.1', port, via: 0, ...over })

describe('the table of transports', () => {
  it('knows the last two names and the last sixteen addresses of each', () => {
    const released: number[] = []
    const table = new TransportTable<{ name: string }>(({ port }) => void released.push(port))
    const [a, b] = [{ name: 'a' }, { name: 'b' }]
    for (const name of ['1', '2', '3']) table.name(a, name)
    table.name(b, '4')
    expect(['1', '2', '3', '4'].map((name) => table.named(name)?.name)).toEqual([undefined, 'a', 'a', 'b'])
    expect([...table.all()]).toEqual([a, b])
    for (let port = 1; port <= 16; port += 1) table.locate(a, at(port), false)
    table.locate(a, at(1), false)
    expect(released).toEqual([])
    table.locate(a, at(17), false)
    expect([released, table.at(at(1)), table.at(at(2)), table.at(at(17))]).toEqual([[2], a, undefined, a])
    table.remove(a)
    expect([released.length, table.at(at(17)), table.named('3'), [...table.all()]]).toEqual([
      17,
      undefined,
      undefined,
      [b],
    ])
    table.remove({ name: 'unknown' })
  })

  it('gives no proved address of one to an unproved claim of another', () => {
    const table = new TransportTable<{ name: string }>()
    const [a, b] = [{ name: 'a' }, { name: 'b' }]
    table.locate(a, at(1), false)
    table.locate(b, at(1), false)
    expect(table.at(at(1))).toBe(b)
    table.locate(b, at(1), true)
    table.locate(b, at(1), false)
    table.locate(a, at(1), false)
    expect(table.at(at(1))).toBe(b)
    table.locate(a, at(1), true)
    expect(table.at(at(1))).toBe(a)
    // It is no longer among the addresses of b.
    table.remove(b)
    expect(table.at(at(1))).toBe(a)
    expect(new Set([at(1), at(2), at(1, { via: 1 }), at(1, { address: '::1' })].map(endpointKeyOf)).size).toBe(4)
  })
})

describe('the addresses of a peer', () => {
  const names = { local: '010203040506', remote: 'peer' }
  function pathsWith({ password = 'secret' }: { password?: string | null } = {}) {
    const sent: { to: number; message: Buffer }[] = []
    const moves: number[] = []
    const proofs: number[] = []
    let current: string | null = password
    let drawn = 0
    const paths = new Paths({
      random: { bytes: (count: number) => Buffer.alloc(count, (drawn += 1)) },
      send: (datagram, to) => void sent.push({ to: to.port, message: Buffer.from(datagram) }),
      passwordOf: (remote) => (remote === names.remote ? (current ?? undefined) : undefined),
      proved: ({ port }) => void proofs.push(port),
      moved: ({ port }) => void moves.push(port),
    })
    const checks = () => sent.splice(0).map(({ to }) => to)
    /** The answer to the last check but `back`. */
    const answer = (back = 0, key = 'secret') => {
      const request = parseBindingRequest(sent.at(-1 - back)?.message ?? Buffer.alloc(0))
      const success = parseBindingSuccess(
        bindingSuccess(request?.transactionId ?? Buffer.alloc(12), '192.0.2.9', 9, key),
      )
      if (success === null) throw new Error('it is one')
      return success
    }
    return { paths, sent, moves, proofs, checks, answer, renew: (other: string) => void (current = other) }
  }

  it('get media only when they have answered a check with its secret, from where it was sent', () => {
    const { paths, sent, moves, proofs, answer } = pathsWith()
    expect(paths.heard(at(1), names, true, 0)).toBe(true)
    expect([paths.present, paths.isProved(at(1)), moves]).toEqual([null, false, []])
    const request = parseBindingRequest(sent[0]?.message ?? Buffer.alloc(0))
    expect(request).toMatchObject({
      localUfrag: 'peer',
      remoteUfrag: names.local,
      priority: 0x7e0000ff,
      controlled: true,
      useCandidate: false,
    })
    expect(ufragOf(request?.transactionId ?? Buffer.alloc(0))).toBe(names.local)
    expect(paths.answered(answer(0, 'another'), at(1), 10)).toBe(false)
    expect(paths.answered(answer(), at(2), 10)).toBe(false)
    expect(paths.isPresent(at(1))).toBe(false)
    expect(paths.answered(answer(), at(1), 10)).toBe(true)
    expect([paths.present?.port, paths.isPresent(at(1)), paths.isProved(at(1)), moves, proofs]).toEqual([
      1,
      true,
      true,
      [1],
      [1],
    ])
    expect([at(2), at(1, { via: 1 }), at(1, { address: '192.0.2.2' })].map((other) => paths.isPresent(other))).toEqual([
      false,
      false,
      false,
    ])
    // An answer proves once.
    expect(paths.answered(answer(), at(1), 20)).toBe(false)
  })

  it('are checked three times more seldom each time while they do not answer', () => {
    const { paths, checks } = pathsWith()
    const asked: number[] = []
    for (let nowMs = 0; nowMs <= 130_000; nowMs += 50) {
      const isAnswered = paths.heard(at(1), names, false, nowMs)
      if (checks().length > 0) asked.push(nowMs)
      expect(isAnswered).toBe(asked.at(-1) === nowMs)
    }
    expect(asked.map((ms, index) => ms - (asked[index - 1] ?? 0))).toEqual([
      0, 100, 300, 900, 2700, 8100, 24_300, 30_000, 30_000, 30_000,
    ])
  })

  it('are answered while their proof is half a minute old at most, and checked again after five seconds', () => {
    const { paths, checks } = pathsWith()
    for (const port of [1, 2]) {
      paths.heard(at(port), names, false, 0)
      paths.prove(at(port), 0)
    }
    checks()
    expect([paths.heard(at(2), names, false, 5000), checks()]).toEqual([true, []])
    expect([paths.heard(at(2), names, false, 5001), checks()]).toEqual([true, [2]])
    expect([paths.heard(at(2), names, false, 5100), checks()]).toEqual([true, []])
    expect([paths.heard(at(2), names, false, 5101), paths.heard(at(2), names, false, 5401)]).toEqual([true, true])
    for (const ms of [6301, 9001, 17_101]) paths.heard(at(2), names, false, ms)
    checks()
    expect([paths.heard(at(2), names, false, 30_000), paths.heard(at(2), names, false, 30_001), checks()]).toEqual([
      true,
      false,
      [],
    ])
    // Where media goes is always answered.
    expect(paths.heard(at(1), names, false, 40_000)).toBe(true)
    expect(paths.heard(at(1), names, false, 40_001)).toBe(true)
  })

  it('move media where the peer nominates, and not before a fresh proof', () => {
    const { paths, moves, answer } = pathsWith()
    paths.heard(at(1), names, false, 0)
    paths.prove(at(1), 0)
    paths.heard(at(2), names, false, 0)
    paths.prove(at(2), 0)
    expect(moves).toEqual([1])
    paths.heard(at(2), names, true, 5000)
    expect(moves).toEqual([1, 2])
    paths.heard(at(1), names, true, 5001)
    expect(moves).toEqual([1, 2])
    expect(paths.answered(answer(), at(1), 5002)).toBe(true)
    expect(moves).toEqual([1, 2, 1])
    paths.prove(at(9), 6000)
    expect(paths.isProved(at(9))).toBe(false)
  })

  it('are no more than sixteen, and the one where media goes and proved ones stay', () => {
    const { paths } = pathsWith()
    for (const port of [1, 2]) {
      paths.heard(at(port), names, false, 0)
      paths.prove(at(port), 0)
    }
    for (let port = 3; port <= 30; port += 1) paths.heard(at(port), names, false, 0)
    expect([paths.isProved(at(1)), paths.isProved(at(2))]).toEqual([true, true])
    for (let port = 31; port <= 45; port += 1) {
      paths.heard(at(port), names, false, 0)
      paths.prove(at(port), 0)
    }
    expect([1, 2, 31, 32, 45].map((port) => paths.isProved(at(port)))).toEqual([true, false, true, true, true])
  })

  it('where media comes from without a check are checked, once there is one where it goes', () => {
    const { paths, checks, moves } = pathsWith()
    paths.strayed(at(5), 0)
    expect(checks()).toEqual([])
    paths.heard(at(1), names, false, 0)
    paths.prove(at(1), 0)
    checks()
    paths.strayed(at(5), 0)
    paths.strayed(at(5), 99)
    expect(checks()).toEqual([5])
    paths.prove(at(5), 100)
    expect(moves).toEqual([1, 5])
    paths.askPresent()
    expect(checks()).toEqual([5])
  })

  it('are checked by the names that their last check had', () => {
    const { paths, sent } = pathsWith()
    paths.heard(at(1), names, false, 0)
    paths.heard(at(1), { ...names, local: '0a0b0c0d0e0f' }, false, 100)
    const asked = sent.map(({ message }) => parseBindingRequest(message)?.remoteUfrag)
    expect(asked).toEqual([names.local, '0a0b0c0d0e0f'])
  })

  it('wait for the password of the peer, and are checked when it comes', () => {
    const { paths, checks, renew } = pathsWith({ password: null })
    paths.askPresent()
    paths.heard(at(1), names, false, 0)
    paths.heard(at(2), names, false, 0)
    paths.prove(at(2), 0)
    expect(checks()).toEqual([])
    renew('secret')
    paths.renewed(5000)
    expect(checks()).toEqual([1])
    paths.renewed(5001)
    expect(checks()).toEqual([1, 2])
  })

  it('keep the last four checks, and get no more than their budget without a proof', () => {
    const { paths, sent, answer, checks } = pathsWith()
    for (const ms of [0, 100, 400, 1300, 4000]) paths.heard(at(1), names, false, ms)
    expect(sent).toHaveLength(5)
    expect(paths.answered(answer(4), at(1), 4001)).toBe(false)
    expect(paths.answered(answer(3), at(1), 4001)).toBe(true)
    checks()
    for (let port = 100; port < 300; port += 1) paths.heard(at(port), names, false, 100_000)
    expect(checks()).toHaveLength(60)
    for (let port = 100; port < 300; port += 1) paths.heard(at(port), names, false, 101_000)
    expect(checks()).toHaveLength(4)
  })

  it('over TCP are proved by TCP', () => {
    const { paths, moves, checks } = pathsWith()
    expect(paths.heard(at(1, { via: 1_000_000 }), names, false, 0)).toBe(true)
    expect([moves, checks()]).toEqual([[1], []])
  })
})

describe('a datagram', () => {
  /** Transports that note what they get; those of `mayBeAt` are tried for strays. */
  function demultiplexer(count: number, mayBeAt: (index: number) => boolean = () => true) {
    const got: string[] = []
    const table = new TransportTable<WebRtcTransport>()
    for (let index = 0; index < count; index += 1) {
      const transport = {
        receiveMedia: (datagram: Buffer) => got.push(`${index} media ${datagram.length}`),
        receiveDtls: (datagram: Buffer) => got.push(`${index} dtls ${datagram.length}`),
        mayBeAt: () => mayBeAt(index),
        receiveStray: () => got.push(`${index} stray`) < 0,
      } as unknown as WebRtcTransport
      table.name(transport, String(index))
      table.locate(transport, at(1 + index), true)
    }
    const all = new Demultiplexer(table)
    const receive = (first: number, { port = 1, bytes = 60, nowMs = 0 } = {}): string[] => {
      all.receive(Buffer.alloc(bytes, first), at(port), nowMs)
      return got.splice(0)
    }
    return { receive }
  }

  it('goes to the transport at its address, by its first byte (RFC 7983)', () => {
    const { receive } = demultiplexer(2)
    expect([0, 3, 4, 19, 64, 127, 192, 255].flatMap((first) => receive(first))).toEqual([])
    expect([20, 63, 128, 191].flatMap((first) => receive(first, { port: 2 }))).toEqual([
      '1 dtls 60',
      '1 dtls 60',
      '1 media 60',
      '1 media 60',
    ])
    expect([receive(20, { port: 9 }), receive(128, { bytes: 0 })]).toEqual([[], []])
    expect([receive(128, { bytes: 2048 }), receive(128, { bytes: 2049 }), receive(128, { port: 0 })]).toEqual([
      ['0 media 2048'],
      [],
      [],
    ])
  })

  it('of media from nowhere known is tried with four of those that may have sent it, and not too often', () => {
    const { receive } = demultiplexer(8, (index) => index !== 1)
    expect(receive(128, { port: 99 })).toEqual(['0 stray', '2 stray', '3 stray', '4 stray'])
    const tried = Array.from({ length: 30 }, () => receive(128, { port: 99 }).length > 0)
    expect(tried.filter((isTried) => isTried)).toHaveLength(19)
    expect(receive(128, { port: 99, nowMs: 50 })).toHaveLength(4)
  })
})

describe('small measures', () => {
  it('a shorter delay counts in full, a longer one for an eighth', () => {
    expect([leastTime(null, 80), leastTime(100, 80), leastTime(80, 160), leastTime(80, 80)]).toEqual([80, 80, 90, 80])
  })

  it('NTP times have their epoch, their fraction and their middle', () => {
    const time = ntpOf(1_750_000_000_500)
    expect(time).toEqual({ ntpSeconds: (1_750_000_000 + 2_208_988_800) >>> 0, ntpFraction: 2 ** 31 })
    expect([
      wallOf({ ...time, ntpSeconds: 2_208_988_801 }),
      middleOf({ ntpSeconds: 0x12345678, ntpFraction: 0x9abcdef0 }),
    ]).toEqual([1500, 0x56789abc])
  })

  it('a round trip is the time since a report, without the time that the peer kept it', () => {
    const NOW = 1_750_000_000_000
    const lastReport = middleOf(ntpOf(NOW - 1000))
    expect(roundTripOf({ lastReport, delaySinceLastReport: 65_536 / 2 }, NOW)).toEqual({
      roundTripMs: 500,
      leftAtMs: NOW - 1000,
    })
    expect(roundTripOf({ lastReport, delaySinceLastReport: 65_536 }, NOW)).toEqual({
      roundTripMs: 0,
      leftAtMs: NOW - 1000,
    })
    expect(roundTripOf({ lastReport, delaySinceLastReport: 65_537 }, NOW)).toBeNull()
    expect(roundTripOf({ lastReport: 0, delaySinceLastReport: 0 }, NOW)).toBeNull()
    const old = (ms: number) => roundTripOf({ lastReport: middleOf(ntpOf(NOW - ms)), delaySinceLastReport: 0 }, NOW)
    expect([old(60_000)?.roundTripMs, old(60_001), old(-1000)]).toEqual([60_000, null, null])
  })

  it.each([
    ['1.2.3.4', '01020304'],
    ['255.255.255.255', 'ffffffff'],
    ['1:2:3:4:5:6:1.2.3.4', '00010002000300040005000601020304'],
    ['abcd::', 'abcd0000000000000000000000000000'],
    ['1::2:1.2.3.4', '00010000000000000000000201020304'],
    ['1:2:3:4:5:6:7::', '00010002000300040005000600070000'],
    ['1:2:3:4:5:6:7::8', null],
    ['1:2:3:4:5:6:7:8::', null],
    ['1:2:3:4:5:6:7:8::x::y', null],
    ['1.2.3.4::', null],
    ['::1.2.3.4:5', null],
    ['::12345', null],
    ['1.2.3.4.5', null],
    ['1.2.3.1000', null],
    [`${'0'.repeat(45)}:`, null],
    ['::ffff:1.2.3', null],
  ])('%s has the bytes %s', (text, bytes) => expect(addressBytes(text)?.toString('hex') ?? null).toBe(bytes))
})
