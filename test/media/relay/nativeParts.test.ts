import { describe, expect, it } from 'vitest'
import { loadAddon } from '../../../src/base/addon.ts'
import { type Addon, loadNative, sealsAlike } from '../../../src/media/relay/transport/nativeAddon.ts'
import { NativeOpener, NativeSockets, NativeTransport } from '../../../src/media/relay/transport/nativeTransport.ts'
import type { Endpoint } from '../../../src/media/relay/transport/socket.ts'
import { carriesAlike, openNativeUdp, type UdpAddon } from '../../../src/media/relay/transport/udpNative.ts'
import { PROFILES } from '../../../src/media/relay/srtp/keys.ts'

const [profile] = PROFILES
if (profile === undefined) throw new Error('there is one')
const master = { profile, key: Buffer.alloc(profile.keyBytes, 1), salt: Buffer.alloc(profile.saltBytes, 2) }

/** An addon without any cryptography: what is called, in turn. Descriptor 13 cannot be adopted. */
function scripted() {
  const calls: string[] = []
  let handle = 40
  const addon = {
    addTransport: () => (handle += 1),
    removeTransport: (transport: number) => void calls.push(`remove ${transport}`),
    route: (transport: number, fd: number, address: Buffer, port: number) =>
      void calls.push(`route ${transport} ${fd} ${address.join('.')} ${port}`),
    open: () => calls.push('open') > 0,
    adoptSocket: (fd: number) => (fd === 13 ? 0 : fd + 100),
    closeSocket: (fd: number) => void calls.push(`close ${fd}`),
  } as unknown as Addon
  return { addon, calls, sockets: new NativeSockets(addon, [12, 13, 14]) }
}

describe('a transport in the native back end', () => {
  it('goes where the addon reaches, and else by JavaScript', () => {
    const { addon, calls, sockets } = scripted()
    const transport = new NativeTransport(addon, sockets, master)
    expect(transport.isRouted).toBe(false)
    const to = (over: Partial<Endpoint> = {}): boolean => {
      transport.route({ address: '192.0.2.1', port: 9, via: 0, ...over })
      return transport.isRouted
    }
    expect([to(), to({ via: 1 }), to({ via: 2, address: '::1' }), to({ via: 3 })]).toEqual([true, false, true, false])
    expect([to({ port: 0 }), to({ address: 'fe80::1%lo' }), to({ address: 'nobody' })]).toEqual([false, false, false])
    expect(calls.slice(0, 3)).toEqual([
      'route 41 112 192.0.2.1 9',
      'route 41 0 0.0.0.0 9',
      `route 41 114 ${'0.'.repeat(15)}1 9`,
    ])
    transport.route(null)
    expect([transport.isRouted, calls.at(-1)]).toEqual([false, 'route 41 0 0.0.0.0 0'])
  })

  it('counts what the addon sends, with the header and the tag of each packet', () => {
    const { addon, sockets } = scripted()
    const transport = new NativeTransport(addon, sockets, master)
    for (const bytes of [0, 100]) transport.count(Buffer.alloc(bytes))
    expect(transport.bytesOut).toBe(100 + 2 * (12 + profile.tagBytes))
  })

  it('is removed once, and goes nowhere after that', () => {
    const { addon, calls, sockets } = scripted()
    const transport = new NativeTransport(addon, sockets, master)
    transport.route({ address: '192.0.2.1', port: 9, via: 0 })
    for (let times = 0; times < 2; times++) transport.close()
    expect(transport.isRouted).toBe(false)
    transport.route({ address: '192.0.2.1', port: 9, via: 0 })
    expect([transport.isRouted, calls]).toEqual([false, ['route 41 112 192.0.2.1 9', 'remove 41']])
  })

  it('opens nothing after its end', () => {
    const { addon, calls } = scripted()
    const opener = new NativeOpener(addon, master)
    expect(opener.open(Buffer.alloc(20), 12, 1, 1)).toBe(true)
    for (let times = 0; times < 2; times++) opener.close()
    expect([opener.open(Buffer.alloc(20), 12, 1, 1), calls]).toEqual([false, ['open', 'remove 41']])
  })

  it('has the socket that takes the index of a closed one', () => {
    const { calls, sockets } = scripted()
    sockets.follow([undefined, 13, 14])
    sockets.follow([15, 13, 14])
    expect([calls, sockets.reach({ address: '192.0.2.1', port: 9, via: 0 })?.fd]).toEqual([['close 112'], 115])
  })

  it('gives its sockets back once', () => {
    const { calls, sockets } = scripted()
    for (let times = 0; times < 2; times++) sockets.close()
    expect([calls, sockets.reach({ address: '192.0.2.1', port: 9, via: 0 })]).toEqual([
      ['close 112', 'close 114'],
      null,
    ])
  })
})

it('is used where both of its parts were built', () => {
  expect(loadNative().ok).toBe(loadAddon('fanout') !== null && loadAddon('udp') !== null)
})

const native = loadNative()
describe.runIf(native.ok)('an addon that goes wrong', () => {
  const addon = native.ok ? native.value.fanout : ({} as Addon)
  const isUsedWithout = (wrong: (...args: Parameters<Addon['seal']>) => boolean): boolean =>
    sealsAlike({
      ...addon,
      seal: (...args) => {
        const sealed = addon.seal(...args)
        return wrong(...args) ? Buffer.concat([sealed, Buffer.alloc(1)]) : sealed
      },
    })

  it.each([0, 1, 15, 16, 17, 255, 1200, 1460])('at a payload of %i bytes is not used', (size) => {
    expect(isUsedWithout((...args) => args[6].length === size)).toBe(false)
  })

  it.each([0, 1, 0xffff, 0x10000, 0x7fff_ffff, 2 ** 32 + 7, 2 ** 40 + 0xffff])('at index %i is not used', (index) => {
    expect(isUsedWithout((_transport, _type, _marker, at) => at === index)).toBe(false)
  })

  it.each([true, false])('at packets with the marker %s is not used', (isMarked) => {
    expect(isUsedWithout((_transport, _type, marker) => marker === isMarked)).toBe(false)
  })

  it('with the second profile alone is not used', () => {
    const seen = new Set<number>()
    expect(sealsAlike({ ...addon })).toBe(true)
    expect(isUsedWithout((transport) => seen.add(transport).size === 2)).toBe(false)
  })

  it('by opening what was forged, or not opening what is right, is not used', () => {
    expect(sealsAlike({ ...addon, open: () => true })).toBe(false)
    expect(sealsAlike({ ...addon, open: () => false })).toBe(false)
  })

  it('is rid of each transport of the trial', () => {
    const open = new Set<number>()
    const counting = {
      ...addon,
      addTransport: (...args: Parameters<Addon['addTransport']>) => {
        const handle = addon.addTransport(...args)
        open.add(handle)
        return handle
      },
      removeTransport: (handle: number) => {
        open.delete(handle)
        addon.removeTransport(handle)
      },
    }
    expect([sealsAlike(counting), open.size]).toEqual([true, 0])
  })
})

interface Slot {
  readonly words: readonly number[]
  readonly datagram: Buffer
}

/** Sockets of a system without a network: what one sends waits at the other. */
class FakeUdp implements UdpAddon {
  readonly closed: number[] = []
  readonly sent: string[] = []
  readonly wakes: ((...slots: Slot[]) => void)[] = []
  readonly #memories = new Map<number, { memory: Buffer; heads: Buffer }>()
  readonly #waiting = new Map<number, Slot[]>()
  #next = 3

  open(_address: Buffer, port: number): number {
    return port === 1 ? -98 : this.#next++
  }
  port(fd: number): number {
    return 5000 + fd
  }
  watch(fd: number, memory: Buffer, heads: Buffer, wake: (count: number) => void): void {
    this.#memories.set(fd, { memory, heads })
    this.wakes.push((...slots) => wake(this.#fill(fd, slots)))
  }
  receive(fd: number): number {
    return this.#fill(fd, this.#waiting.get(fd) ?? [])
  }
  send(fd: number, datagram: Uint8Array, address: Buffer, port: number): boolean {
    this.sent.push(`${fd} ${address.join('.')} ${port} ${datagram.length}`)
    const to = port - 5000
    const slot = { words: [this.port(fd), 0x7f000001], datagram: Buffer.from(datagram) }
    if (datagram.length <= 2048) this.#waiting.set(to, [...(this.#waiting.get(to) ?? []), slot])
    return true
  }
  close(fd: number): void {
    this.closed.push(fd)
  }

  #fill(fd: number, slots: readonly Slot[]): number {
    const { memory, heads } = this.#memories.get(fd) ?? { memory: Buffer.alloc(0), heads: Buffer.alloc(0) }
    for (const [at, { words, datagram }] of slots.entries()) {
      datagram.copy(memory, at * 2048)
      for (const [word, value] of [datagram.length, ...words].entries()) heads.writeUInt32LE(value, (at * 6 + word) * 4)
    }
    return slots.length
  }
}

describe('the sockets of the addon', () => {
  const open = async (host: string) => {
    const udp = new FakeUdp()
    const came: string[] = []
    const froms: Endpoint[] = []
    const port = await openNativeUdp(udp, { host, port: 0 }, (datagram, from) => {
      came.push(`${from.via} ${from.address} ${from.port} ${datagram.toString()}`)
      froms.push(from)
    })
    return { udp, came, froms, port, wake: (...slots: Slot[]) => udp.wakes[0]?.(...slots) }
  }
  const slot = (text: string, ...words: number[]): Slot => ({ words, datagram: Buffer.from(text) })

  it('say who sent each datagram over IPv4, and skip empty ones', async () => {
    const { came, froms, wake } = await open('127.0.0.1')
    wake(slot('one', 9, 0x01020304), slot('', 9, 0x01020304), slot('two', 10, 0x01020304), slot('3', 9, 0xfffefdfc))
    wake(slot('four', 9, 0x01020304))
    expect(came).toEqual(['0 1.2.3.4 9 one', '0 1.2.3.4 10 two', '0 255.254.253.252 9 3', '0 1.2.3.4 9 four'])
    // Most datagrams come from few senders.
    expect(froms[3]).toBe(froms[0])
  })

  it('say who sent each datagram over IPv6', async () => {
    const { came, wake } = await open('::1')
    const words = [0x20010db8, 0x00010002, 0x00030004, 0x00050006]
    wake(slot('one', 9, ...words), slot('two', 9, ...words.with(3, 0x00050007)), slot('three', 8, ...words))
    wake(slot('four', 9, ...words.with(0, 0x20020db8)))
    expect(came).toEqual([
      '0 2001:db8:1:2:3:4:5:6 9 one',
      '0 2001:db8:1:2:3:4:5:7 9 two',
      '0 2001:db8:1:2:3:4:5:6 8 three',
      '0 2002:db8:1:2:3:4:5:6 9 four',
    ])
  })

  it('send where they reach, and are closed once', async () => {
    const { udp, port } = await open('127.0.0.1')
    const to = (address: string, via = 0) => port.send(Buffer.from('x'), { address, port: 7, via })
    for (const address of ['192.0.2.1', '::1', 'nobody']) to(address)
    to('192.0.2.1', 1)
    expect(udp.sent).toEqual(['3 192.0.2.1 7 1'])
    for (let times = 0; times < 2; times++) await port.close()
    expect(udp.closed).toEqual([3])
  })

  it('are refused with the error and the address of a socket', async () => {
    const refused = openNativeUdp(new FakeUdp(), { host: '127.0.0.1', port: 1 }, () => undefined)
    await expect(refused).rejects.toMatchObject({ code: 'EADDRINUSE', syscall: 'bind', address: '127.0.0.1', port: 1 })
    const unknown = openNativeUdp(new FakeUdp(), { host: 'nobody', port: 0 }, () => undefined)
    await expect(unknown).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' })
  })

  it('are tried, and closed after that', () => {
    const udp = new FakeUdp()
    expect([carriesAlike(udp), udp.closed.length]).toEqual([true, 2])
  })

  it.each<[string, (udp: FakeUdp) => void]>([
    ['cannot be opened', (udp) => (udp.open = () => -1)],
    ['can be opened once', (udp) => (udp.open = () => (udp.open = () => -1)() + 4)],
    ['do not send', (udp) => (udp.send = () => false)],
    [
      'lose the last datagram',
      (udp) => {
        const receive = udp.receive.bind(udp)
        udp.receive = (fd) => receive(fd) - 1
      },
    ],
    [
      'name another sender',
      (udp) => {
        const send = udp.send.bind(udp)
        udp.send = (fd, ...others) => send(fd + 1, ...others)
      },
    ],
  ])('that %s are not used', (_what, breaks) => {
    const udp = new FakeUdp()
    breaks(udp)
    expect(carriesAlike(udp)).toBe(false)
  })
})
