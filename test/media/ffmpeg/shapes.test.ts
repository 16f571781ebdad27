import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { fitInto, scaledInto } from '../../../src/media/ffmpeg/arguments.ts'

const [WIDTH, HEIGHT] = [320, 180]

/** A source with its sample aspect ratio (0: it names none), and what viewers should see of it in 320x180. */
const SHAPES = [
  { source: '320x180', sar: '1', seen: [320, 180] },
  { source: '333x123', sar: '0', seen: [320, 118] },
  { source: '1080x1920', sar: '1', seen: [102, 180] },
  // Broadcast equipment: 16:9 in fewer pixels.
  { source: '1440x1080', sar: '4/3', seen: [320, 180] },
  { source: '720x576', sar: '64/45', seen: [320, 180] },
  { source: '720x480', sar: '8/9', seen: [240, 180] },
  // No side becomes 0.
  { source: '2x4096', sar: '1', seen: [2, 180] },
  { source: '4096x2', sar: '1', seen: [320, 2] },
] as const

/** How wide and high the white picture is in each black frame, after a filter that gives frames of this size. */
function seenWith(filter: string, width: number, height: number): number[][] {
  const made = SHAPES.map(({ source, sar }, at) => `color=white:s=${source}:r=1:d=1,setsar=${sar},${filter}[v${at}]`)
  const graph = [
    ...made,
    `${SHAPES.map((_, at) => `[v${at}]`).join('')}vstack=inputs=${SHAPES.length},format=gray[out]`,
  ]
  const args = ['-filter_complex', graph.join(';'), '-map', '[out]', '-frames:v', '1', '-f', 'rawvideo', '-']
  const pixels = execFileSync('ffmpeg', ['-loglevel', 'error', ...args], { maxBuffer: 1 << 26 })
  const isWhite = (at: number, x: number, y: number): boolean => (pixels[(at * height + y) * width + x] ?? 0) > 128
  return SHAPES.map((_, at) => {
    const across = Array.from({ length: width }, (__, x) => isWhite(at, x, height / 2)).filter(Boolean)
    const down = Array.from({ length: height }, (__, y) => isWhite(at, width / 2, y)).filter(Boolean)
    return [across.length, down.length]
  })
}

test('a picture of any shape, with square pixels or without, fits into a rendition as its source means it to be seen', () => {
  expect(seenWith(fitInto(WIDTH, HEIGHT), WIDTH, HEIGHT)).toEqual(SHAPES.map(({ seen }) => [...seen]))
})

test('a thumbnail of any shape has a size that an encoder takes', () => {
  const sizes = seenWith(`${scaledInto(320, 640)},setsar=1,pad=320:640:(ow-iw)/2:(oh-ih)/2`, 320, 640)
  expect(sizes.slice(2)).toEqual([
    [320, 568],
    [320, 180],
    [320, 180],
    [320, 240],
    [2, 640],
    [320, 2],
  ])
})
