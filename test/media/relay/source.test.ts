import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chooseLayer, type Layer, BitrateMeter } from '../../../src/media/relay/forward/source.ts'
import { Camera } from './parts.ts'

/** A layer on which `bitrate` bits per second came during the last second. */
function layerOf(rid: string, bitrate: number): Layer {
  const meter = new BitrateMeter(0)
  meter.add(bitrate / 8)
  meter.tick(1000)
  return { rid, track: new Camera(rid).track, meter }
}

const [small, middle, large] = [layerOf('s', 150_000), layerOf('m', 500_000), layerOf('l', 2_000_000)]
const all = [small, middle, large]
const chosen = (available: number | null, now: Layer | null = null, layers: readonly Layer[] = all) =>
  chooseLayer(layers, available, now?.track ?? null)?.rid

describe('the layer of simulcast for a viewer', () => {
  it('is the largest while the bandwidth is unknown', () => {
    expect(chosen(null)).toBe('l')
    expect(chosen(null, small)).toBe('l')
  })

  it.each([
    [100_000, 's'],
    [600_000, 's'],
    [700_000, 'm'],
    [2_400_000, 'm'],
    [2_600_000, 'l'],
  ])('is, of %d bits per second, %s', (available, rid) => {
    expect(chosen(available)).toBe(rid)
  })

  it('stays where it just fits, and does not grow into what just fits', () => {
    expect(chosen(2_200_000, large)).toBe('l')
    expect(chosen(2_200_000, middle)).toBe('m')
    expect(chosen(2_000_000, large)).toBe('m')
  })

  it('is never one that does not come, and the first where none comes', () => {
    const dead = layerOf('d', 0)
    expect(chosen(null, null, [dead, small])).toBe('s')
    expect(chosen(10, null, [dead, small])).toBe('s')
    expect(chosen(null, null, [dead, layerOf('e', 0)])).toBe('d')
    expect(chosen(1000, null, [])).toBeUndefined()
  })

  it('was the first of all, for a moment, when the whole source paused', () => {
    const paused = [layerOf('d', 0), layerOf('e', 0)] as const
    expect([chosen(null, paused[1], paused), chosen(10, paused[1], paused)]).toEqual(['e', 'e'])
  })

  it('fits, or is the smallest that comes', () => {
    const layers = fc.array(fc.integer({ min: 8, max: 5_000_000 }), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(layers, fc.nat(10_000_000), fc.option(fc.nat(3)), (rates, available, at) => {
        const offered = rates.map((rate, index) => layerOf(String(index), rate))
        const layer = chooseLayer(offered, available, offered[at ?? 9]?.track ?? null)
        const bitrate = layer?.meter.bitrate ?? Number.NaN
        const smallest = Math.min(...offered.map(({ meter }) => meter.bitrate))
        expect(bitrate <= available || bitrate === smallest).toBe(true)
      }),
    )
  })
})

describe('the bitrate of a layer', () => {
  /** What is measured after each second in which so many bits came. */
  const after = (seconds: readonly number[]): number[] => {
    const meter = new BitrateMeter(0)
    return seconds.map((bits, at) => {
      meter.add(bits / 8)
      meter.tick((at + 1) * 1000)
      return meter.bitrate
    })
  }

  it('was that of a pause, and of what came at once after it', () => {
    expect(after([8000, 8000, 8000, 2000, 14_000, 8000])).toEqual(Array(6).fill(8000))
    expect(after([8000, 8000, 2000, 0, 16_000, 8000, 8000])).toEqual([8000, 8000, 8000, 0, 8000, 8000, 8000])
  })

  it('has what was cached for the first second alone', () => {
    expect(after([16_000, 8000, 8000])).toEqual([16_000, 8000, 8000])
  })

  it('follows a publisher within two seconds', () => {
    expect(after([8000, 8000, 8000, 16_000, 16_000])).toEqual([8000, 8000, 8000, 8000, 16_000])
    expect(after([8000, 8000, 0, 0])).toEqual([8000, 8000, 0, 0])
  })
})
