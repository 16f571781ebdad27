import { describe, expect, test } from 'vitest'
import { PACKET_BYTES } from '../../../src/media/mpegts/packets.ts'
import { adts, AUDIO_PID, BOTH, deltaFrame, keyframe, pes, TsMuxer, VIDEO_PID } from './muxer.ts'
import { DAMAGED, Seen, ticks } from './seen.ts'

describe('a transport stream whose video has no lengths', () => {
  test('gives pictures with their last packet once the muxer has shown that it fills that up', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH.slice(0, 1)))
    const counts = Array.from({ length: 260 }, (_, at) => {
      seen.take(ts.video(at === 0 ? keyframe() : deltaFrame(), ticks(at * 40)))
      return seen.frames.length
    })
    // A picture of one packet more than usual is whole as well.
    seen.take(ts.video(deltaFrame(500), ticks(260 * 40)))
    expect(counts).toEqual(counts.map((_, at) => (at < 250 ? at : at + 1)))
    expect([seen.frames.length, seen.frames.at(-1)?.data.length]).toEqual([261, 506])
  })

  test.each([260, 2])('gives whole pictures where a muxer fills up packets within them, from picture %d on', (from) => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH.slice(0, 1)))
    for (let at = 0; at < 300; at++) {
      const bytes = pes(at === 0 ? keyframe() : deltaFrame(), { id: 0xe0, presentation: ticks(at * 40) })
      seen.take(ts.packets(VIDEO_PID, bytes, at < from ? 184 : 120))
    }
    const lengths = seen.frames.slice(1).map(({ data }) => data.length)
    // The first one could not be known.
    const cut = from < 250 ? 0 : 1
    expect(lengths.filter((length) => length !== 306)).toHaveLength(cut)
    expect(lengths).toHaveLength(298)
  })

  test('waits for no other frame where packets within frames have fields of two bytes, as GStreamer writes some', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH.slice(0, 1)))
    for (let at = 0; at < 260; at++) {
      const bytes = pes(at === 0 ? keyframe() : deltaFrame(), { id: 0xe0, presentation: ticks(at * 40) })
      seen.take(ts.packets(VIDEO_PID, bytes, 182))
    }
    expect([seen.frames.length, seen.frames.slice(1).every(({ data }) => data.length === 306)]).toEqual([260, true])
  })

  test('ends with its last picture, if all of it came', () => {
    for (const [missing, frames] of [
      [0, 2],
      [1, 1],
    ] as const) {
      const [seen, ts] = [new Seen(), new TsMuxer()]
      seen.take(ts.tables(BOTH.slice(0, 1)), ts.video(keyframe(), ticks(0)))
      const last = ts.video(deltaFrame(), ticks(40))
      seen.take(last.subarray(0, last.length - missing * PACKET_BYTES))
      seen.ingest.end()
      expect(seen.frames).toHaveLength(frames)
    }
  })
})

describe('a transport stream that costs more than others', () => {
  /** Frames of a byte each, in one packet. */
  const tiny = (frames: number, hasLength: boolean): Buffer =>
    pes(Buffer.concat(Array<Buffer>(frames).fill(adts(1))), { id: 0xc0, presentation: ticks(0), hasLength })

  test('has no audio in packets larger than a length can say, and not more than 1,024 frames of one', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH.slice(1)), ts.packets(AUDIO_PID, tiny(9000, false)))
    // Video may be larger.
    seen.take(ts.audio(adts(), ticks(100)))
    expect([seen.frames.length, seen.leftOut]).toEqual([1, [DAMAGED]])
    seen.take(ts.packets(AUDIO_PID, tiny(8000, true)))
    expect(seen.frames).toHaveLength(1 + 1024)
  })

  test('has 10,000 frames in a second at most, and goes on in the next', () => {
    const [seen, ts] = [new Seen(), new TsMuxer()]
    seen.take(ts.tables(BOTH.slice(1)))
    for (let at = 0; at < 20; at++) seen.take(ts.packets(AUDIO_PID, tiny(1000, true)))
    // Those of the packet with the last one count as well.
    expect(seen.frames).toHaveLength(10_000)
    expect(seen.leftOut).toContain('More than 10000 frames come in a second; the others are left out')
    seen.nowMs = 1000
    seen.take(ts.audio(adts(), ticks(1000)))
    expect(seen.frames).toHaveLength(10_001)
  })

  test('is left out in between where its tracks change again and again, since each change starts processes again', () => {
    const takenIn = (everyMs: number) => {
      const [seen, ts] = [new Seen(), new TsMuxer()]
      for (let at = 0; at < 24; at++) {
        const frame = adts()
        frame.writeUInt8(at % 2 === 0 ? 0x4c : 0x50, 2)
        seen.nowMs += everyMs
        expect(seen.take(ts.tables(BOTH.slice(1)), ts.audio(frame, ticks(at * 20)))).toBe(null)
      }
      return [seen.lists.length, seen.frames.length, new Set(seen.leftOut)]
    }
    const tooOften = 'The tracks change more than once a second; media is left out until they may change again'
    expect([takenIn(0), takenIn(1000)]).toEqual([
      [5, 5, new Set([tooOften])],
      [24, 24, new Set()],
    ])
  })
})
