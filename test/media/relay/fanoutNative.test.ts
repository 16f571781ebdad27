import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import * as fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createJsFanout, type FanoutTarget } from '../../../src/media/relay/forward/fanout.ts'
import { NativeFanout } from '../../../src/media/relay/forward/fanoutNative.ts'
import { NativeBackEnd } from '../../../src/media/relay/transport/nativeBackEnd.ts'
import type { RtpSender } from '../../../src/media/relay/transport/rtpSender.ts'
import { type Addon, loadNative, sealsAlike } from '../../../src/media/relay/transport/nativeAddon.ts'
import type { MediaPacket } from '../../../src/media/relay/forward/packet.ts'
import { applyCounter, counterIv, rtpNonce, sealGcm, tagOf } from '../../../src/media/relay/srtp/cipher.ts'
import { deriveKeys, type MasterKeys, PROFILES } from '../../../src/media/relay/srtp/keys.ts'
import { UDP_KINDS } from '../../support/ipv6.ts'
import { SrtpReader } from '../../../src/media/relay/srtp/reader.ts'
import { type RtpHead, SrtpWriter } from '../../../src/media/relay/srtp/writer.ts'

const native = loadNative()
const closers: (() => unknown)[] = []
afterEach(() => closers.splice(0).forEach((close) => close()))

const bound = async (type: 'udp4' | 'udp6', address: string): Promise<Socket> => {
  const socket = createSocket({ type, recvBufferSize: 1 << 21 }).bind(0, address)
  await once(socket, 'listening')
  closers.push(() => socket.close())
  return socket
}

const keysOf = (at: number): MasterKeys => {
  const profile = PROFILES[at % 2]
  if (profile === undefined) throw new Error('no profile')
  return { profile, key: Buffer.alloc(profile.keyBytes, at + 1), salt: Buffer.alloc(profile.saltBytes, at + 9) }
}

/** A viewer at a socket of its own: collects what arrives, and knows what should. */
async function viewerAt(backEnd: NativeBackEnd, at: number, type: 'udp4' | 'udp6', host: string) {
  const socket = await bound(type, host)
  const arrived: Buffer[] = []
  socket.on('message', (message) => arrived.push(message))
  const writer = new SrtpWriter(keysOf(at))
  const expected: Buffer[] = []
  const transport = backEnd.createTransport(keysOf(at))
  closers.push(() => transport.close())
  transport.route({ address: host, port: socket.address().port, via: 0 })
  const sendRtp: RtpSender['sendRtp'] = () => expect.fail('this one is for the addon')
  const target: FanoutTarget = {
    ssrc: 1000 + at,
    payloadType: 96 + at,
    indexOffset: 65_530 + at,
    timestampOffset: 5 * at,
    firstIndex: 0,
    transport: { sendRtp, native: transport },
    sent: () => undefined,
    failed: (error) => expect.fail(String(error)),
  }
  const wanted: FanoutTarget = {
    ...target,
    transport: { sendRtp: (head, payload) => expected.push(writer.rtp(head, payload)) },
  }
  return { transport, target, wanted, arrived, expected }
}

/** One SRTP packet, whatever its header says (RFC 3711 section 3.1, RFC 7714 section 8). */
function sealedWith(
  master: MasterKeys,
  packet: { index: number; ssrc: number; header: Buffer; payload: Buffer },
): Buffer {
  const { index, ssrc, header, payload } = packet
  const keys = deriveKeys(master, 'rtp')
  const rollovers = Math.floor(index / 0x10000)
  if (keys.profile.name === 'AEAD_AES_128_GCM') {
    const { body, tag } = sealGcm(keys, rtpNonce(keys, ssrc, rollovers, index % 0x10000), header, payload)
    return Buffer.concat([header, body, tag])
  }
  const body = applyCounter(keys, counterIv(keys, ssrc, rollovers, index % 0x10000), payload)
  const count = Buffer.alloc(4)
  count.writeUInt32BE(rollovers)
  return Buffer.concat([header, body, tagOf(keys, header, body, count)])
}

const LOOPBACK_V4 = Buffer.from([127, 0, 0, 1])
const LOOPBACK_V6 = Buffer.concat([Buffer.alloc(15), Buffer.from([1])])

const packet = (index: number, size: number): MediaPacket => ({
  index,
  timestamp: index * 90,
  marker: index % 3 === 0,
  payload: Buffer.alloc(size, index),
  isKeyStart: false,
})

it('throws what goes wrong after a wake-up with the next packet of its publisher, so that it ends that one alone', async () => {
  const fault = new Error('a fault of ours')
  const flush = vi.fn(() => {
    throw fault
  })
  const addon = { addList: () => 1, addTarget: () => undefined, queue: () => 1, flush } as unknown as Addon
  const fanout = new NativeFanout(addon)
  const transport = { sendRtp: () => undefined, native: { handle: 1, isRouted: true, count: () => undefined } }
  const numbers = { ssrc: 1, payloadType: 96, indexOffset: 0, timestampOffset: 0, firstIndex: 0 }
  const own = { sent: () => undefined, failed: (error: unknown) => expect.fail(String(error)) }
  fanout.add({ ...numbers, ...own, transport: transport as unknown as RtpSender })
  fanout.send(packet(1, 9))
  await new Promise(setImmediate)
  expect(flush).toHaveBeenCalledTimes(1)
  expect(() => fanout.send(packet(2, 9))).toThrow(fault)
})

if (!native.ok) {
  it('is not here, and the reason is a sentence', () => expect(native.error).toMatch(/^The native fan-out .*\.$/))
} else {
  const { fanout: addon, udp } = native.value

  /** A back end whose packets leave from a socket of its own. */
  const backEndAt = (address: Buffer): NativeBackEnd => {
    const fd = udp.open(address, 0, 1 << 21)
    const backEnd = new NativeBackEnd(addon, [fd])
    closers.push(
      () => udp.close(fd),
      () => backEnd.close(),
    )
    return backEnd
  }

  describe('the native fan-out', () => {
    it('seals every packet as JavaScript does', () => {
      const heads = fc.record({
        payloadType: fc.nat(127),
        marker: fc.boolean(),
        index: fc.nat(2 ** 48 - 1),
        timestamp: fc.nat(0xffffffff),
        ssrc: fc.nat(0xffffffff),
      })
      fc.assert(
        fc.property(fc.nat(200), heads, fc.uint8Array({ maxLength: 1460, size: 'max' }), (seed, head, bytes) => {
          const payload = Buffer.from(bytes)
          const { profile, encryption, authentication, salt } = deriveKeys(keysOf(seed), 'rtp')
          const target = addon.addTransport(profile.id, encryption.export(), salt, authentication.export())
          const { payloadType, marker, index, timestamp, ssrc } = head
          const sealed = addon.seal(target, payloadType, marker, index, timestamp, ssrc, payload)
          addon.removeTransport(target)
          expect(sealed.equals(new SrtpWriter(keysOf(seed)).rtp(head, payload))).toBe(true)
        }),
        { numRuns: 300 },
      )
    })

    it('opens what is genuine, with a header of any length, and nothing of which a bit is another', () => {
      const cases = fc.record({
        seed: fc.nat(200),
        index: fc.nat(2 ** 48 - 1),
        ssrc: fc.nat(0xffffffff),
        header: fc.uint8Array({ minLength: 12, maxLength: 150, size: 'max' }).map((bytes) => Buffer.from(bytes)),
        payload: fc.uint8Array({ maxLength: 1460, size: 'max' }).map((bytes) => Buffer.from(bytes)),
        bit: fc.nat(),
      })
      const backEnd = new NativeBackEnd(addon, [])
      fc.assert(
        fc.property(cases, ({ seed, index, ssrc, header, payload, bit }) => {
          const opener = backEnd.createOpener(keysOf(seed))
          const sealed = sealedWith(keysOf(seed), { index, ssrc, header, payload })
          const forged = Buffer.from(sealed)
          const at = bit % (forged.length * 8)
          forged[at >> 3] = (forged[at >> 3] ?? 0) ^ (1 << (at & 7))
          expect(opener.open(forged, header.length, ssrc, index)).toBe(false)
          expect(opener.open(Buffer.from(sealed), header.length, ssrc, index + 0x10000)).toBe(false)
          expect(opener.open(sealed, header.length, ssrc, index)).toBe(true)
          const plain = Buffer.concat([header, payload])
          expect(sealed.subarray(0, plain.length).equals(plain)).toBe(true)
          opener.close()
          expect(opener.open(sealed, header.length, ssrc, index)).toBe(false)
        }),
        { numRuns: 300 },
      )
    })

    it('reads a stream as JavaScript does: late, repeated, forged and over a wrap', () => {
      const backEnd = new NativeBackEnd(addon, [])
      for (const seed of [0, 1]) {
        const keys = keysOf(seed)
        const writer = new SrtpWriter(keys)
        const [fast, slow] = [new SrtpReader(keys, backEnd.createOpener(keys)), new SrtpReader(keys)]
        for (const index of [65_530, 65_534, 65_531, 65_531, 65_540, 65_535, 65_540, 131_080, 70_000]) {
          const sealed = writer.rtp(
            { payloadType: 96, marker: false, index, timestamp: 1, ssrc: 9 },
            Buffer.alloc(50, index),
          )
          const forged = Buffer.from(sealed).fill(0, 30, 31)
          expect(fast.rtp(Buffer.from(forged))).toEqual(slow.rtp(Buffer.from(forged)))
          expect(fast.rtp(Buffer.from(sealed))).toEqual(slow.rtp(Buffer.from(sealed)))
        }
      }
    })

    it('is not used when a single byte of what it seals is another', () => {
      const seal: Addon['seal'] = (...args) => {
        const sealed = addon.seal(...args)
        sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1
        return sealed
      }
      expect(sealsAlike(addon)).toBe(true)
      expect(sealsAlike({ ...addon, seal })).toBe(false)
      expect(loadNative('/nowhere')).toMatchObject({ ok: false })
    })

    it('sends the same datagrams in the same order as JavaScript, over IPv4 and IPv6, in bursts of any sizes', async () => {
      const viewers: Awaited<ReturnType<typeof viewerAt>>[] = []
      for (const [kind, host] of UDP_KINDS) {
        const backEnd = backEndAt(kind === 'udp4' ? LOOPBACK_V4 : LOOPBACK_V6)
        for (const _ of [1, 2]) viewers.push(await viewerAt(backEnd, viewers.length, kind, host))
      }
      const [fast, slow] = [new NativeFanout(addon), createJsFanout()]
      for (const { target, wanted } of viewers) {
        fast.add(target)
        slow.add(wanted)
      }
      const sizes = [1200, 1200, 1200, 700, 1200, 1200, 1300, 1, 0, 0, 1460, ...Array<number>(40).fill(1100)]
      for (const [index, size] of sizes.entries()) for (const fanout of [fast, slow]) fanout.send(packet(index, size))
      for (const { arrived, expected, transport } of viewers) {
        await expect.poll(() => arrived.length).toBe(sizes.length)
        expect(arrived).toEqual(expected)
        expect(transport.bytesOut).toBe(Buffer.concat(expected).length)
      }
      for (const { target } of viewers) fast.remove(target)
    })

    it('sends to another process first, whether viewers join before or after, as JavaScript does', async () => {
      const backEnd = backEndAt(LOOPBACK_V4)
      const socket = await bound('udp4', '127.0.0.1')
      const [fast, slow]: [number[], number[]] = [[], []]
      socket.on('message', (message) => fast.push(message.readUInt32BE(8)))
      const fanouts = [new NativeFanout(backEnd.addon), createJsFanout()] as const
      const targets: FanoutTarget[] = []
      for (const at of [0, 1, 2]) {
        const { target, transport } = await viewerAt(backEnd, at, 'udp4', '127.0.0.1')
        transport.route({ address: '127.0.0.1', port: socket.address().port, via: 0 })
        const isFirst = at === 1
        const wanted = { ...target, isFirst, transport: { sendRtp: ({ ssrc }: RtpHead) => slow.push(ssrc) } }
        const ownTarget = { ...target, isFirst }
        targets.push(ownTarget)
        fanouts[0].add(ownTarget)
        fanouts[1].add(wanted)
        for (const fanout of fanouts) fanout.send(packet(at, 100))
      }
      expect(slow).toEqual([1000, 1001, 1000, 1001, 1000, 1002])
      await expect.poll(() => fast.length).toBe(slow.length)
      expect(fast).toEqual(slow)
      for (const target of targets) fanouts[0].remove(target)
      expect(fanouts[0].isEmpty).toBe(true)
    })

    it('leaves unreachable addresses and large packets to JavaScript', async () => {
      const backEnd = backEndAt(LOOPBACK_V4)
      const { transport, target, arrived } = await viewerAt(backEnd, 0, 'udp4', '127.0.0.1')
      const bySender: number[] = []
      const own: FanoutTarget = {
        ...target,
        transport: { sendRtp: ({ index }) => bySender.push(index - target.indexOffset), native: transport },
      }
      const fanout = new NativeFanout(backEnd.addon)
      fanout.add(own)
      fanout.send(packet(0, 100))
      fanout.send(packet(1, 1461))
      await expect.poll(() => arrived.length).toBe(1)
      transport.route(null)
      fanout.send(packet(2, 100))
      transport.route({ address: '::1%lo', port: 5, via: 0 })
      fanout.send(packet(3, 100))
      fanout.remove(own)
      expect(bySender).toEqual([1, 2, 3])
      expect(arrived).toHaveLength(1)
    })

    it('sends nothing for a peer that is gone, also when its place is taken', async () => {
      const backEnd = backEndAt(LOOPBACK_V4)
      const gone = await viewerAt(backEnd, 0, 'udp4', '127.0.0.1')
      const list = addon.addList()
      addon.addTarget(list, gone.transport.handle, 1, 96, 0, 0, 0)
      gone.transport.close()
      const next = await viewerAt(backEnd, 1, 'udp4', '127.0.0.1')
      expect(next.transport.handle & 0xffff).toBe(gone.transport.handle & 0xffff)
      addon.queue(list, Buffer.alloc(100), 1, 1, true)
      expect(addon.flush(list)).toBe(0)
      addon.addTarget(list, next.transport.handle, 1, 96, 0, 0, 2)
      for (const index of [1, 2]) addon.queue(list, Buffer.alloc(100), index, 1, true)
      expect(addon.flush(list)).toBe(1)
      addon.removeList(list)
    })

    it('one destination that the kernel refuses cost all others the single message of a run', async () => {
      const backEnd = backEndAt(LOOPBACK_V4)
      const refused = await viewerAt(backEnd, 0, 'udp4', '127.0.0.1')
      const { transport, target, arrived } = await viewerAt(backEnd, 1, 'udp4', '127.0.0.1')
      const canSegment = addon.segments(transport.handle)
      const fanout = new NativeFanout(backEnd.addon)
      const fd = addon.adoptSocket(udp.open(LOOPBACK_V4, 0, 1 << 16))
      closers.push(() => addon.closeSocket(fd))
      for (const one of [refused.target, target]) fanout.add(one)
      addon.route(refused.transport.handle, fd, LOOPBACK_V4, 0)
      for (let index = 0; index < 8; index++) fanout.send(packet(index, 1100))
      await expect.poll(() => arrived.length).toBe(8)
      expect(addon.segments(transport.handle)).toBe(canSegment)
      for (const one of [refused.target, target]) fanout.remove(one)
    })

    it('takes port 0 for nowhere', async () => {
      const backEnd = backEndAt(LOOPBACK_V4)
      const { transport } = await viewerAt(backEnd, 0, 'udp4', '127.0.0.1')
      transport.route({ address: '127.0.0.1', port: 0, via: 0 })
      expect(transport.isRouted).toBe(false)
    })

    it('opens nothing of garbage of any length, and touches nothing around it', () => {
      const garbage = fc.record({
        seed: fc.nat(1),
        length: fc.oneof(fc.nat(60), fc.nat(70_000)),
        clear: fc.oneof(fc.nat(80), fc.nat(0xffffffff)),
        index: fc.oneof(fc.nat(), fc.integer()),
      })
      fc.assert(
        fc.property(garbage, ({ seed, length, clear, index }) => {
          const { profile, encryption, authentication, salt } = deriveKeys(keysOf(seed), 'rtp')
          const target = addon.addTransport(profile.id, encryption.export(), salt, authentication.export())
          const around = Buffer.alloc(length + 64, 0x77)
          try {
            expect(addon.open(target, around.subarray(32, 32 + length), clear, 1, index)).toBe(false)
          } catch (error) {
            expect(error).toBeInstanceOf(TypeError)
          }
          addon.removeTransport(target)
          expect(around.subarray(0, 32).equals(Buffer.alloc(32, 0x77))).toBe(true)
          expect(around.subarray(32 + length).equals(Buffer.alloc(32, 0x77))).toBe(true)
        }),
        { numRuns: 500 },
      )
    })

    it('answers wrong arguments with a TypeError, whatever they are', () => {
      const anything = fc.oneof(
        fc.anything(),
        fc.integer(),
        fc.uint8Array({ maxLength: 40, size: 'max' }).map((b) => Buffer.from(b)),
      )
      const names = (Object.keys(addon) as (keyof Addon)[]).filter(
        (name) => name !== 'addList' && name !== 'adoptSocket',
      )
      fc.assert(
        fc.property(fc.constantFrom(...names), fc.array(anything, { maxLength: 8 }), (name, args) => {
          try {
            Reflect.apply(addon[name], addon, args)
          } catch (error) {
            expect(error).toBeInstanceOf(TypeError)
          }
        }),
        { numRuns: 2000 },
      )
      expect(() => addon.queue(0, Buffer.alloc(1), 1, 1, true)).toThrow(TypeError)
    })
  })
}
