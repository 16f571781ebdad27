import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { systemRandom } from '../../../src/base/random.ts'
import { loadNative } from '../../../src/media/relay/transport/nativeAddon.ts'
import { openPort } from '../../../src/media/relay/transport/port.ts'
import { preferredAddresses, onOnePort, openUdp } from '../../../src/media/relay/transport/socket.ts'

/** Often, and however busy the machine is. */
const POLL = { interval: 2, timeout: 30_000 }

const AT = { host: '127.0.0.1', port: 0, random: systemRandom }

/** Sockets that are numbers. `isTaken` says which port cannot be bound at which address. */
function binder(isTaken: (address: string, port: number) => boolean) {
  let next = 5000
  const bound: string[] = []
  const open = new Set<number>()
  const bind = async (address: string, port: number): Promise<number> => {
    const got = port === 0 ? (next += 1) : port
    bound.push(`${address} ${port}`)
    if (isTaken(address, got)) throw new Error('taken')
    open.add(got)
    return got
  }
  const close = async (socket: number): Promise<void> => void open.delete(socket)
  return { bound, open, parts: { bind, close, portOf: (socket: number) => socket } }
}

describe('a port', () => {
  it('is that of the first address, at all of them', async () => {
    const { parts, bound } = binder(() => false)
    const { addresses, sockets, port } = await onOnePort({ host: '', port: 0 }, parts)
    expect(addresses.length).toBeGreaterThan(0)
    expect([port, new Set(sockets), bound[0]]).toEqual([5001, new Set([5001]), `${addresses[0]} 0`])
    expect(bound.slice(1)).toEqual(addresses.slice(1).map((address) => `${address} 5001`))
  })

  it('that is taken somewhere gives way to another one, ten times, and leaves no socket open', async () => {
    const once = binder((_, port) => port === 5001)
    await expect(onOnePort({ host: '127.0.0.1', port: 0 }, once.parts)).resolves.toMatchObject({ port: 5002 })
    const never = binder(() => true)
    await expect(onOnePort({ host: '127.0.0.1', port: 0 }, never.parts)).rejects.toThrow('taken')
    expect([never.bound.length, never.open.size]).toEqual([10, 0])
  })

  it('that is taken at a later address is given back at the earlier ones', async () => {
    const { parts, bound, open } = binder((address) => address !== bound[0]?.split(' ')[0])
    const { addresses } = await onOnePort({ host: '', port: 0 }, binder(() => false).parts)
    const bind = onOnePort({ host: '', port: 8081 }, parts)
    await (addresses.length > 1 ? expect(bind).rejects.toThrow('taken') : bind)
    expect(open.size).toBe(addresses.length > 1 ? 0 : 1)
  })

  it('that was asked for is tried once', async () => {
    const { parts, bound } = binder(() => true)
    await expect(onOnePort({ host: '127.0.0.1', port: 8081 }, parts)).rejects.toThrow('taken')
    expect(bound).toEqual(['127.0.0.1 8081'])
  })
})

describe('a UDP port of Node', () => {
  it('sends one datagram as it sends very many, and passes over addresses that it does not have', async () => {
    const peer = createSocket({ type: 'udp4', recvBufferSize: 1 << 20 }).bind(0, '127.0.0.1')
    await once(peer, 'listening')
    const came: string[] = []
    peer.on('message', (datagram) => came.push(datagram.toString()))
    const port = await openUdp(AT, () => undefined)
    const to = { address: '127.0.0.1', port: peer.address().port, via: 0 }
    try {
      port.send(Buffer.from('one'), to)
      await expect.poll(() => came, POLL).toEqual(['one'])
      port.send(Buffer.from('x'), { ...to, via: 7 })
      // Those of one turn leave at its end, or when 64 wait.
      const many = Array.from({ length: 130 }, (_, at) => String(at))
      for (const text of many) port.send(Buffer.from(text), to)
      await expect.poll(() => came.slice(1), POLL).toEqual(many)
      port.send(Buffer.from('last'), to)
    } finally {
      await port.close()
    }
    await expect.poll(() => came.at(-1), POLL).toBe('last')
    peer.close()
  })

  it('says how long datagrams wait when more come than its process can take, and not once it is emptied', async () => {
    const peer = createSocket('udp4').bind(0, '127.0.0.1')
    await once(peer, 'listening')
    let nowMs = 0
    /** How long each has waited, and how long the port says. */
    const waits: [number, number][] = []
    const port = await openUdp({ ...AT, now: () => nowMs }, (_datagram, _from, saidMs = 0) => {
      waits.push([nowMs, saidMs])
      nowMs += 10
    })
    const send = (count: number): void => {
      for (let n = 0; n < count; n++) peer.send('x', port.port, '127.0.0.1')
    }
    try {
      send(300)
      await expect.poll(() => waits.length, POLL).toBe(300)
      for (const [waitedMs, saidMs] of waits) expect(saidMs).toBeLessThanOrEqual(waitedMs)
      // The first probe was sent after the first turn, of 32.
      expect(waits.at(-1)).toEqual([2990, 2670])
      send(1)
      await expect.poll(() => waits.length, POLL).toBe(301)
      send(1)
      await expect.poll(() => waits.at(301)?.[1], POLL).toBe(0)
    } finally {
      await port.close()
      peer.close()
    }
  })
})

it('the port of a process is served by JavaScript alone when that is asked for, and says so', async () => {
  const port = await openPort(AT, false, () => undefined)
  await port.udp.close()
  expect(port).toMatchObject({ native: null, note: 'Media is forwarded in JavaScript alone, as it was asked for.' })
  const other = await openPort(AT, true, () => undefined)
  other.native?.close()
  await other.udp.close()
  const native = loadNative()
  expect([other.native === null, other.note]).toEqual([!native.ok, native.ok ? null : native.error])
})

describe('the addresses of this machine', () => {
  const at = (address: string, internal = false) => ({
    address,
    internal,
    family: address.includes(':') ? 'IPv6' : 'IPv4',
  })
  type Interfaces = Parameters<typeof preferredAddresses>[0]

  it('come in the order in which others reach them, the loopback last', () => {
    const interfaces = {
      lo: [at('::1', true), at('127.0.0.1', true)],
      eth0: [at('fe80::1'), at('2001:db8::1'), at('192.0.2.1')],
      eth1: [at('192.0.2.2')],
      none: undefined,
    } as unknown as Interfaces
    expect(preferredAddresses(interfaces)).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::1', '127.0.0.1', '::1'])
  })

  it('are sixteen at most, and the loopback where there is none', () => {
    const many = { eth0: Array.from({ length: 17 }, (_, index) => at(`192.0.2.${index}`)) } as unknown as Interfaces
    expect([preferredAddresses(many).length, preferredAddresses({})]).toEqual([16, ['127.0.0.1']])
  })
})
