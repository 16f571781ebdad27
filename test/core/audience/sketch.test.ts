import { expect, it } from 'vitest'
import { hashOf, Sketch } from '../../../src/core/audience/sketch.ts'

const sketchOf = (from: number, to: number, seed = 1): Sketch => {
  const sketch = new Sketch()
  for (let n = from; n < to; n++) sketch.add(hashOf(`192.0.2.${n}`, seed))
  return sketch
}

it.each([0, 1, 10, 200, 5_000, 20_000, 200_000])('counts %d viewers within four standard errors', (count) => {
  const error = Math.abs(sketchOf(0, count).estimate() - count)
  expect(error).toBeLessThanOrEqual(Math.ceil(count * 4 * 0.0163))
})

it('counts the viewers of several sketches once, and keeps them as text', () => {
  for (const [count, length] of [
    [300, 900],
    [30_000, 4096],
  ] as const) {
    const [first, second] = [sketchOf(0, count), sketchOf(count / 2, count * 1.5)]
    const merged = Sketch.of(first.toText())
    expect(first.toText().length).toBeLessThanOrEqual(length)
    merged.merge(Sketch.of(second.toText()))
    expect(merged.estimate()).toBe(sketchOf(0, count * 1.5).estimate())
    expect(Sketch.of(merged.toText()).estimate()).toBe(merged.estimate())
  }
})

it('keeps no viewer: without the seed, addresses cannot be tried', () => {
  expect(sketchOf(0, 50, 1).toText()).not.toBe(sketchOf(0, 50, 2).toText())
  const hits = Array.from({ length: 1000 }, (_, n) => hashOf(`203.0.113.${n}`, 1) >>> 20)
  // Many addresses share each of the 4,096 registers.
  expect(new Set(hits).size).toBeLessThan(1000)
})
