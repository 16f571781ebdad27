import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { MediaPacket } from '../../../src/media/relay/forward/packet.ts'
import { RtpTrack } from '../../../src/media/relay/forward/rtpTrack.ts'
import { Camera } from './parts.ts'

const raw = (ssrc: number, index: number, isKeyStart = false) => ({
  ssrc,
  index,
  timestamp: index * 3600,
  marker: true,
  payload: Buffer.from(`${ssrc}/${index}`),
  isKeyStart,
})

/** Packets of one stream in an order that a network may make: some lost, some late, some twice. */
const disordered = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 200, size: 'max' })

describe('a track', () => {
  it('gives each number to one packet, whatever arrives in whatever order from whichever stream', () => {
    const streams = fc.array(
      fc.record({ ssrc: fc.integer({ min: 1, max: 3 }), first: fc.nat(65_535), order: disordered }),
    )
    fc.assert(
      fc.property(streams, (all) => {
        const { track } = new Camera('a')
        const passed: MediaPacket[] = []
        track.listen((packet) => passed.push(packet))
        for (const { ssrc, first, order } of all) for (const step of order) track.take(raw(ssrc, first + step), 0)
        const numbers = passed.map(({ index }) => index)
        expect(new Set(numbers).size).toBe(numbers.length)
        expect(
          numbers.every((index) => track.packet(index)?.index !== undefined || index < (track.last?.index ?? 0)),
        ).toBe(true)
      }),
      { numRuns: 200 },
    )
  })

  it('passes on everything that came of one stream, once, with its distances', () => {
    fc.assert(
      fc.property(fc.nat(65_535), disordered, (first, order) => {
        const { track } = new Camera('a')
        const passed: string[] = []
        track.listen(({ index, payload }) => passed.push(`${index}: ${payload.toString()}`))
        for (const step of order) track.take(raw(1, first + step), 0)
        expect(passed).toEqual([...new Set(order)].map((step) => `${first + step}: 1/${first + step}`))
      }),
      { numRuns: 200 },
    )
  })

  it('gives a viewer that comes late a thousand packets at most', () => {
    const { track } = new Camera('a')
    for (let index = 0; index < 1000; index++) track.take(raw(1, index, index === 0), index)
    expect(track.sinceKeyframe()).toHaveLength(1000)
    track.take(raw(1, 1000), 1000)
    expect(track.sinceKeyframe()).toEqual([])
  })

  it('keeps the bytes of its packets, not the blocks that they came in', () => {
    const { track } = new Camera('a')
    for (let index = 0; index < 3000; index++) {
      const block = Buffer.alloc(65_536, index)
      track.take({ ...raw(1, index), payload: block.subarray(0, 1000) }, index)
    }
    const kept = Array.from({ length: 3000 }, (_, index) => track.packet(index)?.payload).filter(
      (one) => one !== undefined,
    )
    const blocks = new Set(kept.map(({ buffer }) => buffer))
    const held = [...blocks].reduce((sum, { byteLength }) => sum + byteLength, 0)
    expect(kept.map((payload) => payload[999])).toEqual(kept.map((_, at) => (3000 - kept.length + at) & 255))
    expect(kept.length).toBeGreaterThan(1000)
    expect(held).toBeLessThan(kept.length * 1000 * 1.1)
  })

  it('goes on with the next number and a later time when a publisher changes its SSRC', () => {
    const { track } = new Camera('a')
    track.take(raw(1, 500), 1000)
    track.take(raw(2, 60_000), 1100)
    const [before, after] = [track.packet(500), track.packet(501)]
    expect(after?.payload.toString()).toBe('2/60000')
    expect((after?.timestamp ?? 0) - (before?.timestamp ?? 0)).toBe(100 * 90)
  })

  it('takes nothing that came before a change of SSRC under a number from before it', () => {
    const { track } = new Camera('a')
    track.take(raw(1, 500), 1000)
    track.take(raw(2, 60_000), 1100)
    track.take(raw(2, 59_999), 1110)
    expect(track.packet(500)?.payload.toString()).toBe('1/500')
    expect(track.last?.index).toBe(501)
  })

  it.each(['video', 'audio'] as const)(
    'of %s refuses packets from before its ring: their numbers may have been used, and a number is an SRTP nonce',
    (kind) => {
      const passed: number[] = []
      const codec = kind === 'video' ? 'vp8' : 'opus'
      const track = new RtpTrack({ kind, codec, rate: 90_000 }, null)
      track.listen(({ index }) => passed.push(index))
      const late = 500
      for (let index = 0; index < 3000; index++) if (index !== late + 1) track.take(raw(1, index), 0)
      for (const index of [late, late + 1]) track.take(raw(1, index), 0)
      expect(passed).toHaveLength(2999)
      expect(new Set(passed).size).toBe(2999)
    },
  )

  it('makes one request for a keyframe of many', () => {
    const camera = new Camera('a')
    for (let viewer = 0; viewer < 50; viewer++) camera.track.requestKeyframe(1000 + viewer)
    expect(camera.asked).toBe(1)
  })

  it('whose request for a keyframe was lost never asked again, and new viewers saw nothing', () => {
    const camera = new Camera('a')
    camera.track.requestKeyframe(1000)
    for (let nowMs = 1020; nowMs <= 2600; nowMs += 20) camera.track.tick(nowMs)
    expect(camera.asked).toBe(4)
    camera.send(2700, true)
    for (let nowMs = 2720; nowMs <= 6000; nowMs += 20) camera.track.tick(nowMs)
    expect(camera.asked).toBe(4)
  })
})
