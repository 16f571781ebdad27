import { describe, expect, test } from 'vitest'
import { PACKET_BYTES } from '../../../src/media/mpegts/packets.ts'
import { BOTH, deltaFrame, keyframe, pes, TsMuxer, VIDEO_PID } from './muxer.ts'
import { Seen, ticks } from './seen.ts'

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
