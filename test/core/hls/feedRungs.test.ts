import { expect, test } from 'vitest'
import { feedRungs } from '../../../src/core/hls/feedRungs.ts'

const RENDITIONS = [360, 1080, 720].map((height) => ({ height, bitrate: height * 2000 }))
const none = (): boolean => false

const sizes = (width: number, height: number, known: (name: string) => boolean = none) =>
  feedRungs(RENDITIONS, { width, height }, known).map(({ name, size }) => `${name} ${size.width}x${size.height}`)

test('renditions have the aspect ratio of the source, the largest first; none is as large as the source', () => {
  expect(sizes(1920, 1080)).toEqual(['v720 1280x720', 'v360 640x360'])
  expect(sizes(1280, 720)).toEqual(['v360 640x360'])
  expect(sizes(640, 360)).toEqual([])
})

test('the height of a portrait source is its shorter side', () => {
  expect(sizes(1080, 1920)).toEqual(['v720 720x1280', 'v360 360x640'])
})

test('all sizes are even', () => {
  expect(sizes(853, 481)).toEqual(['v360 638x360'])
})

test('a rendition that players know stays when the source shrinks, and is not larger than it', () => {
  expect(sizes(640, 360, (name) => name === 'v720')).toEqual(['v720 640x360'])
})

test('a source of unknown size has none', () => {
  expect(sizes(0, 0)).toEqual([])
})
