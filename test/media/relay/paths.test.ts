import { describe, expect, it } from 'vitest'
import { Paths, ufragOf } from '../../../src/media/relay/transport/paths.ts'
import type { Endpoint } from '../../../src/media/relay/transport/socket.ts'
import { bindingSuccess, parseBindingRequest, parseBindingSuccess } from '../../../src/media/relay/wire/stun.ts'
import { FIRST_VIA } from '../../../src/media/relay/transport/tcp.ts'

const at = (port: number, over: Partial<Endpoint> = {}): Endpoint => ({ address: '192.0.2.1', port, via: 0, ...over })

describe('the addresses of a peer', () => {
  const names = { local: '010203040506', remote: 'peer' }
  function pathsWith({ password = 'secret', ...over }: { password?: string | null; isControlling?: boolean } = {}) {
    const sent: { to: number; message: Buffer }[] = []
    const moves: number[] = []
    const proofs: number[] = []
    let current: string | null = password
    let drawn = 0
    const paths = new Paths({
      ...over,
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

  it('are sought by a client, which nominates the first that answers, and no other', () => {
    const { paths, sent, moves, checks, answer } = pathsWith({ isControlling: true })
    const seek = (nowMs: number) => [1, 2].map((port) => paths.seek(at(port), names, nowMs))
    const latest = () => parseBindingRequest(sent.at(-1)?.message ?? Buffer.alloc(0))
    seek(0)
    expect(latest()).toMatchObject({ localUfrag: 'peer', controlled: false, useCandidate: false })
    seek(50)
    expect(checks()).toEqual([1, 2])
    seek(100)
    expect(paths.answered(answer(1), at(1), 110)).toBe(true)
    expect([checks(), moves]).toEqual([[1, 2], [1]])
    seek(120)
    expect(latest()).toMatchObject({ controlled: false, useCandidate: true })
    const other = answer()
    expect(checks()).toEqual([1])
    // An answer of the other one, which was asked before, changes nothing.
    expect([paths.answered(other, at(2), 130), paths.present?.port, moves]).toEqual([false, 1, [1]])
    seek(9000)
    expect(checks()).toEqual([1])
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
    expect(paths.heard(at(1, { via: FIRST_VIA }), names, false, 0)).toBe(true)
    expect([moves, checks()]).toEqual([[1], []])
  })
})
