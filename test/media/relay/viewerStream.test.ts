import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Camera, RecordingSender, MEDIA, REPAIR, downTrackTo } from './parts.ts'

const FRAME_MS = 40

/** What may happen to a viewer of two sources, in any order. */
const happening = fc.oneof(
  { weight: 8, arbitrary: fc.record({ does: fc.constant('send' as const), who: fc.nat(1), key: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('lose' as const), who: fc.nat(1) }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('attach' as const), who: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('detach' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constant('miss' as const), number: fc.integer({ min: -20, max: 20 }) }),
  },
)
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never

function play(story: readonly Happening[], rtx: boolean, losses: boolean) {
  const sender = new RecordingSender()
  const downTrack = downTrackTo(sender, { rtx })
  const cameras = [new Camera('a'), new Camera('b', { firstIndex: 64_000 })] as const
  let nowMs = 1_000_000
  for (const one of story) {
    nowMs += FRAME_MS
    const camera = 'who' in one ? cameras[one.who === 0 ? 0 : 1] : cameras[0]
    if (one.does === 'send') camera.send(nowMs, one.key)
    if (one.does === 'lose' && losses) camera.lose()
    if (one.does === 'attach') downTrack.attach(camera.track, nowMs)
    if (one.does === 'detach') downTrack.detach()
    if (one.does === 'miss') {
      const highest = sender.on(MEDIA).reduce((most, { index }) => Math.max(most, index), 99)
      downTrack.resend([(highest + one.number) & 0xffff], nowMs)
    }
  }
  return sender
}

describe('what one viewer is sent', () => {
  it.each([true, false])('never has two packets under one number, whatever happens (RTX: %s)', (rtx) => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 120, size: 'max' }), (story) => {
        const seen = new Map<number, string>()
        for (const { index, timestamp, payload } of play(story, rtx, true).on(MEDIA)) {
          const what = `${payload} at ${timestamp}`
          expect(seen.get(index) ?? what).toBe(what)
          seen.set(index, what)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('has numbers without a gap and times that grow, over all switches, when its sources lose nothing', () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 120, size: 'max' }), (story) => {
        const sent = play(story, true, false).on(MEDIA)
        expect(sent.map(({ index }) => index)).toEqual(sent.map((_, at) => 100 + at))
        const steps = sent.slice(1).map(({ timestamp }, at) => (timestamp - (sent[at]?.timestamp ?? 0)) | 0)
        expect(steps.every((step) => step > 0)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  it('repairs with numbers of their own, one after another, that say what they repair', () => {
    let repairs = 0
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 120, size: 'max' }), (story) => {
        const sender = play(story, true, true)
        const byIndex = new Map(sender.on(MEDIA).map((one) => [one.index & 0xffff, one]))
        repairs += sender.on(REPAIR).length
        for (const [at, { index, payload, timestamp }] of sender.on(REPAIR).entries()) {
          const original = byIndex.get(Buffer.from(payload, 'latin1').readUInt16BE(0))
          expect(index).toBe(100 + at)
          expect({ payload: payload.slice(2), timestamp }).toEqual({
            payload: original?.payload,
            timestamp: original?.timestamp,
          })
        }
      }),
      { numRuns: 300 },
    )
    expect(repairs).toBeGreaterThan(0)
  })
})

describe('a viewer', () => {
  it('that comes soon after a keyframe begins with it at once', () => {
    const [camera, sender] = [new Camera('a'), new RecordingSender()]
    camera.send(0, true)
    camera.send(40)
    downTrackTo(sender).attach(camera.track, 60)
    expect(sender.sent.map(({ payload }) => payload)).toEqual(['a1000', 'a1001'])
    expect(camera.asked).toBe(0)
  })

  it('that comes long after a keyframe of a source that takes no requests gets the time since then spread, and all in order', () => {
    const [track, sender] = [new Camera('a', { canBeAsked: false }), new RecordingSender()]
    const downTrack = downTrackTo(sender)
    track.send(0, true)
    for (let sent = 1; sent < 200; sent++) track.send(sent)
    downTrack.attach(track.track, 1000)
    expect(sender.sent.length).toBeLessThan(100)
    for (let nowMs = 1020; nowMs < 1200; nowMs += 20) {
      track.send(nowMs)
      downTrack.pace(nowMs)
    }
    expect(sender.sent.map(({ payload }) => payload)).toEqual(Array.from({ length: 209 }, (_, at) => `a${1000 + at}`))
  })

  it('that is caught up with is not sent a packet twice, nor one that it left, however fast its source is', () => {
    const [fast, other, sender] = [new Camera('a', { canBeAsked: false }), new Camera('b'), new RecordingSender()]
    const downTrack = downTrackTo(sender)
    fast.send(0, true)
    for (let sent = 1; sent < 200; sent++) fast.send(1)
    downTrack.attach(fast.track, 1000)
    for (let nowMs = 1020; nowMs < 2100; nowMs += 20) {
      for (let sent = 0; sent < 10; sent++) fast.send(nowMs)
      downTrack.pace(nowMs)
    }
    expect(new Set(sender.sent.map(({ payload }) => payload)).size).toBe(sender.sent.length)
    expect(sender.sent.at(-1)?.payload).toBe(`a${1000 + 199 + 540}`)
    downTrack.detach()
    fast.send(2200)
    other.send(2200, true)
    downTrack.attach(other.track, 2210)
    downTrack.pace(2220)
    expect(sender.sent.at(-1)?.payload).toBe('b1000')
  })

  it('that comes later waits for a keyframe that is asked for, and begins with it', () => {
    const [camera, sender] = [new Camera('a'), new RecordingSender()]
    camera.send(0, true)
    downTrackTo(sender).attach(camera.track, 5000)
    camera.send(5040)
    expect([camera.asked, sender.sent.length]).toEqual([1, 0])
    camera.send(5080, true)
    camera.send(5120)
    expect(sender.sent.map(({ payload }) => payload)).toEqual(['a1002', 'a1003'])
  })

  it('goes on in time when its source is replaced by one with another clock', () => {
    const [first, second, sender] = [new Camera('a'), new Camera('b', { ssrc: 9 }), new RecordingSender()]
    const downTrack = downTrackTo(sender)
    first.send(1000, true)
    downTrack.attach(first.track, 1000)
    first.send(1040)
    downTrack.attach(second.track, 1100)
    // Its own clock is ten minutes ahead.
    second.track.take({ ...second.packet(1500, true), timestamp: 601_500 * 90 }, 1500)
    second.track.take({ ...second.packet(1540, false, 1), timestamp: 601_540 * 90 }, 1540)
    const times = sender.sent.map(({ timestamp }) => (timestamp - (sender.sent[0]?.timestamp ?? 0)) / 90)
    expect(times).toEqual([0, 40, 500, 540])
  })

  it('shows its source until the other one has a keyframe', () => {
    const [first, second, sender] = [new Camera('a'), new Camera('b'), new RecordingSender()]
    const downTrack = downTrackTo(sender)
    first.send(0, true)
    downTrack.attach(first.track, 0)
    downTrack.attach(second.track, 10)
    second.send(20)
    first.send(40)
    second.send(60, true)
    first.send(80)
    expect(sender.sent.map(({ payload }) => payload)).toEqual(['a1000', 'a1001', 'b1001'])
  })

  it('that switched to a layer with a recent keyframe was shown the time since then twice', () => {
    const [small, large, sender] = [new Camera('s'), new Camera('l'), new RecordingSender()]
    const downTrack = downTrackTo(sender)
    small.send(0, true)
    downTrack.attach(small.track, 0)
    large.send(100, true)
    for (let nowMs = 140; nowMs <= 900; nowMs += 40) for (const camera of [small, large]) camera.send(nowMs)
    const before = sender.sent.length
    downTrack.attach(large.track, 900)
    expect([sender.sent.length, large.asked]).toEqual([before, 1])
  })

  it('that was shown nothing any more got what its old source sent on, under numbers that others take later', () => {
    const [camera, other, sender] = [new Camera('a'), new Camera('b'), new RecordingSender()]
    const downTrack = downTrackTo(sender, { rtx: false })
    camera.send(0, true)
    downTrack.attach(camera.track, 0)
    downTrack.detach()
    camera.send(40)
    downTrack.resend([101], 60)
    other.send(80, true)
    downTrack.attach(other.track, 90)
    expect(sender.sent.map(({ index, payload }) => [index, payload])).toEqual([
      [100, 'a1000'],
      [101, 'b1000'],
    ])
  })

  it('is sent a packet again, but not before the last copy can have come', () => {
    const [camera, sender] = [new Camera('a'), new RecordingSender()]
    const downTrack = downTrackTo(sender)
    camera.send(0, true)
    downTrack.attach(camera.track, 0)
    downTrack.resend([100, 100], 10)
    downTrack.resend([100], 20)
    expect(sender.on(REPAIR)).toHaveLength(1)
    downTrack.resend([100], 60)
    expect(sender.on(REPAIR)).toHaveLength(2)
  })

  it('that switched is sent nothing again of what was before: it began again with a keyframe', () => {
    const [small, large, sender] = [new Camera('a'), new Camera('b'), new RecordingSender()]
    const downTrack = downTrackTo(sender)
    for (const camera of [small, large]) camera.send(0, true)
    downTrack.attach(small.track, 0)
    small.send(40)
    downTrack.attach(large.track, 50)
    large.send(80, true)
    downTrack.resend([100, 101, 102], 100)
    expect(sender.on(REPAIR).map(({ payload }) => payload.slice(2))).toEqual(['b1001'])
  })

  it('is sent no more again than half of what it was sent, however often it asks', () => {
    const [camera, sender] = [new Camera('a'), new RecordingSender()]
    const downTrack = downTrackTo(sender)
    camera.send(0, true)
    downTrack.attach(camera.track, 0)
    for (let nowMs = 20; nowMs < 20_000; nowMs += 20) {
      camera.send(nowMs)
      if (nowMs % 200 === 0) downTrack.tick(nowMs)
      const last = sender.on(MEDIA).at(-1)?.index ?? 0
      const latest = Array.from({ length: 100 }, (_, at) => (last - 99 + at) & 0xffff)
      downTrack.resend(latest, nowMs)
    }
    const [sent, again] = [sender.on(MEDIA).length, sender.on(REPAIR).length]
    expect(again).toBeGreaterThan(sent / 3)
    // And a keyframe's worth of small packets, once.
    expect(again).toBeLessThanOrEqual(sent / 2 + 100)
  })

  it('that loses much is sent two copies of what it asks for, each under a number of its own', () => {
    const [camera, sender] = [new Camera('a'), new RecordingSender()]
    const downTrack = downTrackTo(sender)
    camera.send(0, true)
    downTrack.attach(camera.track, 0)
    downTrack.repeatResends({ copies: 2 })
    downTrack.resend([100], 100)
    expect(sender.on(REPAIR).map(({ index, payload }) => [index, payload.slice(2)])).toEqual([
      [100, 'a1000'],
      [101, 'a1000'],
    ])
  })

  it('gets packets that it has as padding, about as many bytes as wanted; none without retransmissions', () => {
    for (const rtx of [true, false]) {
      const [camera, sender] = [new Camera('a'), new RecordingSender()]
      const downTrack = downTrackTo(sender, { rtx })
      expect(downTrack.pad(1000)).toBe(0)
      camera.send(0, true)
      downTrack.attach(camera.track, 0)
      camera.send(40)
      expect(downTrack.pad(1000) >= 1000).toBe(rtx)
      const padding = sender.sent.slice(2)
      expect(padding.length > 0).toBe(rtx)
      expect(new Set(padding.map(({ ssrc, payload }) => [ssrc, payload.slice(2)].join()))).toEqual(
        new Set(rtx ? [`${REPAIR},a1001`] : []),
      )
    }
  })

  it('whose network was away for a second is sent about half of that second at once', () => {
    const [camera, sender] = [new Camera('a'), new RecordingSender()]
    const downTrack = downTrackTo(sender)
    camera.send(0, true)
    downTrack.attach(camera.track, 0)
    for (let nowMs = 4; nowMs <= 4000; nowMs += 4) {
      camera.send(nowMs)
      if (nowMs % 200 === 0) downTrack.tick(nowMs)
    }
    const last = sender.on(MEDIA).at(-1)?.index ?? 0
    downTrack.resend(
      Array.from({ length: 250 }, (_, at) => (last - 249 + at) & 0xffff),
      4000,
    )
    expect(sender.on(REPAIR).length).toBeGreaterThan(120)
  })
})
