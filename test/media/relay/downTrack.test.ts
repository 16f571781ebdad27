import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RtpSender } from '../../../src/media/relay/transport/rtpSender.ts'
import { DownTrack } from '../../../src/media/relay/outbound/downTrack.ts'
import type { RtpHead } from '../../../src/media/relay/srtp/writer.ts'
import { type RawPacket, RtpTrack } from '../../../src/media/relay/forward/rtpTrack.ts'

interface Sent {
  readonly head: RtpHead
  readonly payload: Buffer
}

function viewer({ withRtx = false, firstIndex = 100 } = {}) {
  const sent: Sent[] = []
  const transport: RtpSender = { sendRtp: (head, payload) => sent.push({ head, payload }) }
  const rtx = withRtx ? { ssrc: 8, payloadTypes: new Map([[96, 97]]) } : null
  const downTrack = new DownTrack({
    ssrc: 7,
    kind: 'video',
    payloadTypes: new Map([['vp8', 96]]),
    rtx,
    transport,
    firstIndex,
  })
  return { downTrack, sent }
}

const track = (ask: (() => void) | null = () => undefined): RtpTrack =>
  new RtpTrack({ kind: 'video', codec: 'vp8', rate: 90_000 }, ask)

let count = 0
/** A packet whose payload is unlike any other. */
const packet = (index: number, over: Partial<RawPacket> = {}) => {
  const payload = Buffer.alloc(8)
  payload.writeUIntBE((count += 1), 0, 6)
  return { ssrc: 1, index, timestamp: index * 3000, marker: true, isKeyStart: false, payload, ...over }
}

test('a viewer gets nothing before a keyframe, then every packet, and one request is enough for many', () => {
  let asked = 0
  const source = track(() => (asked += 1))
  const [first, second] = [viewer(), viewer()]
  source.take(packet(10), 0)
  for (const { downTrack } of [first, second]) downTrack.attach(source, 10)
  source.take(packet(11), 20)
  expect([first.sent, second.sent]).toEqual([[], []])
  source.take(packet(12, { isKeyStart: true }), 30)
  source.take(packet(13), 40)
  expect(asked).toBe(1)
  for (const { sent } of [first, second]) expect(sent.map(({ head }) => head.index)).toEqual([100, 101])
})

test('a source that takes no requests is cached for those who come, and a viewer of another of its layers waits', () => {
  const [first, second] = [track(null), track(null)]
  const { downTrack, sent } = viewer()
  for (const source of [first, second]) source.take(packet(1, { isKeyStart: true }), 0)
  downTrack.attach(first, 1500)
  expect(sent).toHaveLength(1)
  downTrack.attach(second, 1600, true)
  first.take(packet(2), 1640)
  expect([sent.length, downTrack.track === first, downTrack.nextTrack === second]).toEqual([2, true, true])
  second.take(packet(2, { isKeyStart: true }), 2000)
  expect([sent.length, downTrack.track === second]).toEqual([3, true])
  // The layer that it had is gone: what is cached shows at once.
  downTrack.attach(first, 2040, false)
  expect([sent.length, downTrack.track === first]).toEqual([5, true])
})

test('a viewer who waits for a keyframe gets all of it when its first packet was lost and repaired', () => {
  const source = track()
  const { downTrack, sent } = viewer()
  downTrack.attach(source, 0)
  for (const index of [11, 12, 10]) source.take(packet(index, { timestamp: 30_000, isKeyStart: index === 10 }), 20)
  source.take(packet(13), 40)
  expect(sent.map(({ head }) => head.index)).toEqual([100, 101, 102, 103])
})

test('a viewer that comes late begins with the last keyframe at once if the source takes no requests', () => {
  const source = track(null)
  source.take(packet(1, { isKeyStart: true }), 0)
  for (let index = 2; index <= 50; index++) source.take(packet(index), index * 40)
  const { downTrack, sent } = viewer()
  downTrack.attach(source, 10_000)
  expect(sent).toHaveLength(50)
})

test('late packets go to no viewer, and each goes on at a keyframe in time, without a gap in its numbers', () => {
  const asked: number[] = []
  let nowMs = 0
  const source = track(() => asked.push(nowMs))
  const [watching, joining] = [viewer(), viewer()]
  const heard: boolean[] = []
  source.listen(() => heard.push(true))
  const take = (index: number, over: Partial<RawPacket> = {}): void => {
    nowMs = index * 1000
    source.take(packet(index, over), nowMs)
  }
  watching.downTrack.attach(source, 0)
  take(1, { isKeyStart: true })
  take(2)
  take(3, { isLate: true })
  take(4, { isLate: true, isKeyStart: true })
  joining.downTrack.attach(source, 4500)
  const whileLate = asked.length
  take(5, { isLate: true })
  expect([watching, joining].map(({ sent }) => sent.length)).toEqual([2, 0])
  expect(watching.downTrack.track).toBeNull()
  // In time again, but what a decoder needs is missing: the publisher is asked for a keyframe.
  take(6)
  expect([asked.length > whileLate, watching.sent.length]).toEqual([true, 2])
  take(7, { isKeyStart: true })
  take(8)
  expect(watching.sent.map(({ head }) => head.index)).toEqual([100, 101, 102, 103])
  expect(watching.sent.map(({ head }) => head.timestamp)).toEqual([3000, 6000, 21_000, 24_000])
  expect(joining.sent.map(({ head }) => head.index)).toEqual([100, 101])
  // Packets before the gap are not sent again, nor any that were late; recordings have all of it.
  watching.downTrack.resend([101, 102], 8500)
  expect(watching.sent.slice(4).map(({ head }) => head.index)).toEqual([102])
  expect(heard).toHaveLength(8)
})

test('another track goes on where the one before it ended: no gap in numbers, time as fast as the clock', () => {
  const [before, after] = [track(), track()]
  const { downTrack, sent } = viewer()
  downTrack.attach(before, 0)
  before.take(packet(500, { isKeyStart: true, timestamp: 90_000 }), 1000)
  before.take(packet(501, { timestamp: 93_600 }), 1040)
  downTrack.attach(after, 1040)
  after.take(packet(9, { isKeyStart: true, timestamp: 4_000_000_000 }), 2000)
  expect(sent.map(({ head }) => head.index)).toEqual([100, 101, 102])
  const [, last, next] = sent.map(({ head }) => head.timestamp)
  expect((next ?? 0) - (last ?? 0)).toBe(960 * 90)
})

test('what a viewer misses is sent again as it was, or in a stream of its own where that was agreed', () => {
  for (const withRtx of [false, true]) {
    const source = track()
    const { downTrack, sent } = viewer({ withRtx, firstIndex: 0xfffe })
    downTrack.attach(source, 0)
    for (let index = 1; index <= 4; index++) source.take(packet(index, { isKeyStart: index === 1 }), index)
    const missed = sent[2]
    downTrack.resend([0], 100)
    const again = sent[4]
    expect(missed?.head.index).toBe(0x10000)
    if (withRtx) {
      expect(again?.head).toMatchObject({ ssrc: 8, payloadType: 97, timestamp: missed?.head.timestamp })
      expect(again?.payload).toEqual(Buffer.concat([Buffer.from([0, 0]), missed?.payload ?? Buffer.alloc(0)]))
    } else expect(again).toEqual(missed)
    downTrack.resend([0], 110)
    expect(sent).toHaveLength(5)
  }
})

test('a viewer that asks for everything over and over gets a bounded number of packets', () => {
  const source = track()
  const { downTrack, sent } = viewer()
  downTrack.attach(source, 0)
  for (let index = 1; index <= 1000; index++) source.take(packet(index, { isKeyStart: index === 1 }), 1)
  const all = Array.from({ length: 1000 }, (_, at) => 100 + at)
  for (let ms = 100; ms <= 1100; ms += 10) downTrack.resend(all, ms)
  expect(sent.length - 1000).toBeLessThan(1500)
})

/** Steps of a publisher that does its worst: loss, repeats, old packets, new SSRCs, and a viewer that asks and switches. */
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('send' as const),
      which: fc.nat(1),
      ssrc: fc.nat(1),
      /** From the packet before it: mostly the next, at times late or again. */
      ahead: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, fc.integer({ min: -5, max: 3 })),
      key: fc.boolean(),
      late: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.boolean()),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('show' as const), which: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('resend' as const), sequence: fc.nat(0xffff) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('hide' as const) }) },
)

test('no number of a viewer’s stream is ever used for two contents, whatever publishers do: it is a nonce', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 40, maxLength: 120, size: 'max' }), (steps) => {
      const tracks = [track(), track()]
      const { downTrack, sent } = viewer()
      const latest = [50, 50]
      for (const [at, one] of steps.entries()) {
        const nowMs = at * 50
        const source = 'which' in one ? tracks[one.which] : undefined
        if (one.kind === 'send') {
          const index = Math.max(0, (latest[one.which] ?? 0) + one.ahead)
          latest[one.which] = index
          source?.take(packet(index, { ssrc: one.ssrc, isKeyStart: one.key, isLate: one.late }), nowMs)
        } else if (one.kind === 'show' && source !== undefined) downTrack.attach(source, nowMs)
        else if (one.kind === 'resend') downTrack.resend([one.sequence % (sent.length + 200)], nowMs)
        else downTrack.detach()
      }
      const contents = new Map<number, Sent>()
      for (const one of sent) {
        const known = contents.get(one.head.index)
        if (known !== undefined) expect(one).toEqual(known)
        contents.set(one.head.index, one)
      }
    }),
    { numRuns: 300 },
  )
})
