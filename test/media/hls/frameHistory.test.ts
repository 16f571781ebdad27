import { expect, test } from 'vitest'
import type { Frame } from '../../../src/media/frame.ts'
import { FrameHistory, HISTORY_BYTES_MAX } from '../../../src/media/hls/ladder/frameHistory.ts'

const SECOND_US = 1_000_000

/** Video of one frame a second, every second one a keyframe. */
const frame = (second: number, bytes = 1): Frame => ({
  kind: 'video',
  key: second % 2 === 0,
  timeUs: second * SECOND_US,
  decodeTimeUs: second * SECOND_US,
  data: Buffer.alloc(bytes),
})

const secondsOf = ({ frames }: FrameHistory) => frames?.map(({ timeUs }) => timeUs / SECOND_US) ?? null

test('an encoder that begins again needs the video from the last keyframe on that it has encoded', () => {
  const history = new FrameHistory()
  for (let second = 0; second < 6; second += 1) history.add(frame(second))
  history.encoded(null)
  expect(secondsOf(history)).toEqual([0, 1, 2, 3, 4, 5])
  history.encoded(3 * SECOND_US)
  expect(secondsOf(history)).toEqual([2, 3, 4, 5])
  history.encoded(2 * SECOND_US)
  expect(secondsOf(history)).toEqual([2, 3, 4, 5])
})

test('what is encoded takes no room, however much it was', () => {
  const history = new FrameHistory()
  for (let second = 0; second < 20; second += 1) {
    history.add(frame(second, HISTORY_BYTES_MAX / 4))
    history.encoded(second * SECOND_US)
  }
  expect(secondsOf(history)).toEqual([18, 19])
})

test('after too much has come for an encoder that is behind, it is whole again from a keyframe that is encoded', () => {
  const history = new FrameHistory()
  for (let second = 0; second < 5; second += 1) history.add(frame(second, HISTORY_BYTES_MAX / 4))
  expect(secondsOf(history)).toBeNull()
  for (const second of [5, 6, 7]) history.add(frame(second))
  history.encoded(5 * SECOND_US)
  expect(secondsOf(history)).toBeNull()
  history.encoded(7 * SECOND_US)
  expect(secondsOf(history)).toEqual([6, 7])
})
