import { describe, expect, it } from 'vitest'
import { estimateIndex, ReplayWindow } from '../../../src/media/relay/srtp/packetIndex.ts'

describe('the index of a packet', () => {
  it('is nearest to the highest one, around the wrap and never below zero', () => {
    expect([estimateIndex(-1, 65_535), estimateIndex(0, 32_769), estimateIndex(0, 65_535)]).toEqual([
      65_535, 32_769, 65_535,
    ])
    const wrapped = 0x10000
    expect([32_768, 32_769, 65_535].map((sequence) => estimateIndex(wrapped, sequence))).toEqual([
      98_304, 32_769, 65_535,
    ])
    expect([32_767, 32_766, 0].map((sequence) => estimateIndex(65_535, sequence))).toEqual([32_767, 98_302, 65_536])
    expect(estimateIndex(5 * wrapped + 100, 65_000)).toBe(4 * wrapped + 65_000)
    expect(estimateIndex(5 * wrapped + 65_000, 100)).toBe(6 * wrapped + 100)
  })

  it('is taken once, and not at all when it is 4096 behind', () => {
    const window = new ReplayWindow()
    for (const index of [0, 5000]) {
      expect(window.isFresh(index)).toBe(true)
      window.take(index)
      expect(window.isFresh(index)).toBe(false)
    }
    expect([904, 905, 4999, 5001].map((index) => window.isFresh(index))).toEqual([false, true, true, true])
    window.take(905)
    expect([905, 906, window.highest]).toEqual([905, 906, 5000])
    expect([window.isFresh(905), window.isFresh(906)]).toEqual([false, true])
    // What is far ahead forgets what lies behind it, and nothing else.
    window.take(5002)
    expect([5000, 5001, 5002].map((index) => window.isFresh(index))).toEqual([false, true, false])
    window.take(5002 + 4096)
    expect([5003, 9097, 9098].map((index) => window.isFresh(index))).toEqual([true, true, false])
    window.take(100_000)
    const all = Array.from({ length: 4095 }, (_, at) => 100_000 - 4095 + at)
    expect(all.every((index) => window.isFresh(index))).toBe(true)
  })

  it('is fresh after a gap around the end of the window, whatever came there a window earlier', () => {
    const window = new ReplayWindow()
    const taken = [0, 1, 4, 4090, 4102]
    for (const index of taken) window.take(index)
    const all = Array.from({ length: 4096 }, (_, at) => 7 + at)
    expect(all.filter((index) => !window.isFresh(index))).toEqual([4090, 4102])
  })
})
