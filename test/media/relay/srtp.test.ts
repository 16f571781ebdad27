import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RtpHeader, RtpPacket, SrtcpSession, SrtpSession } from 'werift'
import { estimateIndex, ReplayWindow } from '../../../src/media/relay/srtp/packetIndex.ts'
import { type MasterKeys, PROFILES, profileOf } from '../../../src/media/relay/srtp/keys.ts'
import { SrtpReader } from '../../../src/media/relay/srtp/reader.ts'
import { SrtpWriter } from '../../../src/media/relay/srtp/writer.ts'
import { writeReceiverReport } from '../../../src/media/relay/wire/rtcp/rtcp.ts'

const bytes = (length: number, first: number): Buffer =>
  Buffer.from(Array.from({ length }, (_, at) => (first + at * 7) & 255))

/** Keys of one direction, and another implementation that has them too. */
function both(id: 1 | 7): { master: MasterKeys; rtp: SrtpSession; rtcp: SrtcpSession } {
  const profile = profileOf(id)
  if (profile === undefined) throw new Error('no profile')
  const [key, salt] = [bytes(16, 3), bytes(profile.saltBytes, 91)]
  const keys = { localMasterKey: key, localMasterSalt: salt, remoteMasterKey: key, remoteMasterSalt: salt }
  return {
    master: { profile, key, salt },
    rtp: new SrtpSession({ keys, profile: id }),
    rtcp: new SrtcpSession({ keys, profile: id }),
  }
}

const headOf = (index: number) => ({
  payloadType: 96,
  marker: index % 9 === 0,
  index,
  timestamp: index * 90,
  ssrc: 0x1234abcd,
})

function plain(index: number, payload: Buffer): Buffer {
  const { payloadType, marker, timestamp, ssrc } = headOf(index)
  return new RtpPacket(
    new RtpHeader({ payloadType, marker, timestamp, ssrc, sequenceNumber: index & 0xffff }),
    payload,
  ).serialize()
}

describe.each(PROFILES)('$name', ({ id }) => {
  test('seals byte for byte what another implementation seals, over a wrap of the sequence number', () => {
    const { master, rtp } = both(id)
    const writer = new SrtpWriter(master)
    for (let index = 65_000; index < 66_500; index++) {
      const payload = bytes(index % 1200, index & 255)
      const theirs = rtp.encrypt(payload, RtpPacket.deSerialize(plain(index, payload)).header)
      const ours = writer.rtp(headOf(index), payload)
      if (index < 65_536) expect(ours.equals(theirs)).toBe(true)
      else expect(ours.length).toBe(theirs.length)
    }
  })

  test('opens what it sealed, over a wrap, and nothing twice, altered or of another key', () => {
    const { master } = both(id)
    const [writer, reader] = [new SrtpWriter(master), new SrtpReader(master)]
    for (let index = 65_500; index < 65_600; index++) {
      const sealed = writer.rtp(headOf(index), bytes(100, index & 255))
      const altered = Buffer.from(sealed)
      altered[20] = (altered[20] ?? 0) ^ 1
      expect(reader.rtp(altered)).toBeUndefined()
      const again = Buffer.from(sealed)
      const opened = reader.rtp(sealed)
      expect(opened?.index).toBe(index)
      expect(opened?.packet.equals(plain(index, bytes(100, index & 255)))).toBe(true)
      expect(reader.rtp(again)).toBeUndefined()
    }
    const stranger = new SrtpReader({ ...master, key: bytes(16, 200) })
    expect(stranger.rtp(writer.rtp(headOf(7), bytes(50, 1)))).toBeUndefined()
  })

  test('keeps a packet in the memory that it came in, not in a part of a pool that stays as long as it does', () => {
    const { master } = both(id)
    const sealed = new SrtpWriter(master).rtp(headOf(1), bytes(1000, 1))
    const opened = new SrtpReader(master).rtp(sealed)
    expect(opened?.packet.buffer).toBe(sealed.buffer)
    expect(opened?.packet.byteOffset).toBe(sealed.byteOffset)
  })

  test('takes packets out of order once each, and none from before the window', () => {
    const { master } = both(id)
    const [writer, reader] = [new SrtpWriter(master), new SrtpReader(master)]
    const sealed = (index: number) => writer.rtp(headOf(index), bytes(30, 5))
    expect(reader.rtp(sealed(10_000))?.index).toBe(10_000)
    expect(reader.rtp(sealed(9_990))?.index).toBe(9_990)
    expect(reader.rtp(sealed(9_990))).toBeUndefined()
    expect(reader.rtp(sealed(20_000))?.index).toBe(20_000)
    expect(reader.rtp(sealed(10_001))).toBeUndefined()
  })

  test('opens packets without a payload, which probe the bandwidth, and none that is shorter than its tag', () => {
    const { master } = both(id)
    const [sealed, reader] = [new SrtpWriter(master).rtp(headOf(7), bytes(0, 0)), new SrtpReader(master)]
    expect(reader.rtp(Buffer.from(sealed.subarray(0, -1)))).toBeUndefined()
    expect(reader.rtp(sealed)?.packet).toHaveLength(12)
  })

  test('opens 32 streams of a peer and no more, and those that were forged are none', () => {
    const { master } = both(id)
    const [writer, reader] = [new SrtpWriter(master), new SrtpReader(master)]
    const sealed = (ssrc: number) => writer.rtp({ ...headOf(1), ssrc }, bytes(20, 1))
    for (let ssrc = 100; ssrc < 200; ssrc++) expect(reader.rtp(sealed(ssrc).fill(0, 40))).toBeUndefined()
    const isOpened = Array.from({ length: 40 }, (_, ssrc) => reader.rtp(sealed(ssrc)) !== undefined)
    expect(isOpened.lastIndexOf(true)).toBe(31)
    expect(reader.rtp(writer.rtp({ ...headOf(2), ssrc: 5 }, bytes(20, 1)))?.index).toBe(2)
  })

  test('exchanges RTCP with another implementation, and takes no report twice', () => {
    const { master, rtcp } = both(id)
    const [writer, reader] = [new SrtpWriter(master), new SrtpReader(master)]
    const report = writeReceiverReport(77)
    expect(rtcp.decrypt(writer.rtcp(report)).equals(report)).toBe(true)
    const theirs = rtcp.encrypt(report)
    expect(reader.rtcp(theirs)?.equals(report)).toBe(true)
    expect(reader.rtcp(theirs)).toBeUndefined()
  })

  test('no bytes whatever make the reader throw or believe', () => {
    const reader = new SrtpReader(both(id).master)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200, size: 'max' }), (noise) => {
        expect(reader.rtp(Buffer.from(noise))).toBeUndefined()
        expect(reader.rtcp(Buffer.from(noise))).toBeUndefined()
      }),
      { numRuns: 2000 },
    )
  })
})

test('an index is the one nearest to the highest, whatever was lost or came late (RFC 3711 section 3.3.1)', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 40_000, max: 2 ** 40 }),
      fc.integer({ min: -32_000, max: 32_000 }),
      (highest, step) => {
        expect(estimateIndex(highest, (highest + step) & 0xffff)).toBe(highest + step)
      },
    ),
  )
})

test('a replay window takes each index once and in any order', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 4000 }), { maxLength: 300, size: 'max' }), (indexes) => {
      const window = new ReplayWindow()
      const taken = new Set<number>()
      for (const index of indexes) {
        expect(window.isFresh(index)).toBe(!taken.has(index))
        if (!window.isFresh(index)) continue
        window.take(index)
        taken.add(index)
      }
    }),
  )
})
