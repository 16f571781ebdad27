import { expect, test } from 'vitest'
import { forSlowVideo, SlowVideoWatch } from '../../../src/core/hls/slowVideo.ts'

/** What is found after frames with these seconds between them. */
function changes(steps: readonly number[], isSlow = false): [step: number, isSlow: boolean][] {
  const watch = new SlowVideoWatch(isSlow)
  let atUs = 0
  watch.look(atUs)
  return steps.flatMap((seconds, at) => {
    const found = watch.look((atUs += seconds * 1_000_000))
    return found === null ? [] : [[at, found]]
  })
}

const times = (count: number, seconds: number): number[] => Array.from({ length: count }, () => seconds)

test('video is slow after two steps of more than two seconds, and no longer after a hundred of less than one', () => {
  expect(changes([...times(5, 3), ...times(99, 0.9), 3, ...times(101, 0.9)])).toEqual([
    [1, true],
    [204, false],
  ])
  // One pause after that says nothing, as before.
  expect(changes([...times(99, 0.9), 3, 0.9], true)).toEqual([[98, false]])
})

test('one pause, steps that fit into a segment, and a source that begins again are not slow video', () => {
  expect(changes([0.04, 5, 0.04, 5, ...times(10, 1.9), ...times(5, 20), -30, 5])).toEqual([])
})

test('only a rate of the ladder is kept', () => {
  const rung = { index: 0, id: 're_1', label: '90p', width: 160, height: 90, bitrate: 100_000, frameRate: null }
  const chosen = { ...rung, frameRate: { value: 15, scale: 1 } }
  expect([forSlowVideo(rung).frameRate, forSlowVideo(chosen)]).toEqual([{ value: 5, scale: 1 }, chosen])
})
