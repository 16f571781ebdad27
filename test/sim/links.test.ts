import { describe, expect, test } from 'vitest'
import { linkNet, type ModelLayer, type ModelNetwork } from '../support/linkNet.ts'
import { seeded } from '../support/lossyUdp.ts'

/** `LINK_SEEDS=200` tries as many as the bounds were taken from. */
const SEEDS = Number(process.env['LINK_SEEDS'] ?? 8)

/** As a browser sends them, and where a frame is one packet, so that reports have little to say. */
const SOURCES: Readonly<Record<string, readonly ModelLayer[]>> = {
  '2.3 Mbit/s': [
    { packets: 10, bytes: 1150 },
    { packets: 2, bytes: 1100 },
    { packets: 1, bytes: 500 },
  ],
  '180 kbit/s': [
    { packets: 1, bytes: 900 },
    { packets: 1, bytes: 400 },
    { packets: 1, bytes: 150 },
  ],
}
const BITRATES: Readonly<Record<string, number>> = { '2.3 Mbit/s': 2_300_000, '180 kbit/s': 180_000 }
const NAMES = Object.keys(SOURCES)

/** A link that has carried the largest layer for five seconds before its network becomes so. */
function linkIn(seed: number, source: string, over: Partial<ModelNetwork>) {
  const link = linkNet(seed, SOURCES[source] ?? [])
  link.pass(5000)
  Object.assign(link.network, over)
  return link
}

const seeds = Array.from({ length: SEEDS }, (_, at) => at + 1)

/** The seeds of the links that do not do it within this time. */
const failing = (act: (seed: number) => boolean): number[] => seeds.filter((seed) => !act(seed))

function sheds(seed: number, source: string, over: Partial<ModelNetwork>, withinMs: number): boolean {
  const link = linkIn(seed, source, over)
  for (let passed = 0; passed < withinMs; passed += 200) {
    link.pass(200)
    if ((link.screen.layer ?? 0) > 0) return true
  }
  return false
}

const gapsOf = (shown: readonly { readonly atMs: number }[]): number[] =>
  shown.map(({ atMs }, at) => atMs - (shown[at - 1]?.atMs ?? atMs))

const longestGap = (shown: readonly { readonly atMs: number }[]): number => Math.max(0, ...gapsOf(shown))

describe.each(NAMES)('a link with %s', (source) => {
  const bitrate = BITRATES[source] ?? 0

  test.each([
    { loss: 0.25, withinMs: 40_000 },
    { loss: 0.45, withinMs: 10_000 },
  ])('that loses $loss shows a smaller layer within $withinMs ms', ({ loss, withinMs }) => {
    expect(failing((seed) => sheds(seed, source, { loss }, withinMs))).toEqual([])
  })

  test('that loses 12% keeps the largest layer', () => {
    expect(failing((seed) => !sheds(seed, source, { loss: 0.12 }, 20_000))).toEqual([])
  })

  test.each([
    { share: 0.75, queueMs: 300 },
    { share: 0.5, queueMs: 300 },
    { share: 0.75, queueMs: 50 },
  ])('that is too narrow for it, $share with a queue of $queueMs ms, shows a smaller layer within 8 s', (one) => {
    const narrow = { bitrate: bitrate * one.share, queueMs: one.queueMs }
    for (const delayMs of [1, 30])
      expect(failing((seed) => sheds(seed, source, { ...narrow, delayMs }, 8000))).toEqual([])
  })

  test('that is too narrow for it shows a smaller layer within three seconds, as a rule', () => {
    const tookMs = seeds.map((seed) => {
      const { screen, pass, nowMs } = linkIn(seed, source, { bitrate: bitrate * 0.75 })
      const beganMs = nowMs()
      while (screen.layer === 0) pass(50)
      return nowMs() - beganMs
    })
    expect(tookMs.reduce((sum, ms) => sum + ms, 0) / SEEDS).toBeLessThan(3000)
  })

  test('that is too narrow for it hardly freezes while it is probed', () => {
    const seconds = 30
    const frozenMs = seeds.map((seed) => {
      const { screen, pass } = linkIn(seed, source, { bitrate: bitrate * 0.75 })
      pass(8000)
      const before = screen.shown.length
      pass(1000 * seconds)
      return gapsOf(screen.shown.slice(before - 1))
        .filter((ms) => ms > 200)
        .reduce((sum, ms) => sum + ms, 0)
    })
    const mean = frozenMs.reduce((sum, ms) => sum + ms, 0) / SEEDS
    expect(mean / 1000 / seconds).toBeLessThan(source === '180 kbit/s' ? 0.04 : 0.01)
  })

  test.each([0.03, 0.08])('that loses %s shows a frame at least every 200 ms, and all of them', (loss) => {
    const failed = failing((seed) => {
      const { screen, pass } = linkIn(seed, source, { loss })
      // A loss before the home knows of any is seen with the next frame only.
      pass(1000)
      const before = screen.shown.length
      pass(10_000)
      const shown = screen.shown.slice(before - 1)
      return shown.length > 240 && screen.missing === 0 && longestGap(shown) <= 200
    })
    expect(failed).toEqual([])
  })

  test('that loses 8%, and whose round trip varies by 100 ms, shows a frame at least every 500 ms', () => {
    const failed = failing((seed) => {
      const { network, screen, pass } = linkIn(seed, source, { loss: 0.08 })
      const random = seeded(seed)
      const varies = (seconds: number) => {
        for (let at = 0; at < 5 * seconds; at += 1) {
          network.delayMs = 30 + Math.floor(random() * 50)
          pass(200)
        }
      }
      varies(1)
      const before = screen.shown.length
      varies(19)
      return longestGap(screen.shown.slice(before - 1)) <= 500
    })
    expect(failed).toEqual([])
  })
})
