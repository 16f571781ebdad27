import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SequenceGaps } from '../../../src/media/rtsp/sequenceGaps.ts'
import { cases } from '../../support/randomCases.ts'

interface Numbered {
  readonly sequence: number
  readonly channel?: number
  readonly source?: number
  readonly type?: number
}

function packet({ sequence, channel = 0, source = 7, type = 96 }: Numbered): Buffer {
  const bytes = Buffer.from([0x24, channel, 0, 12, 0x80, type, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
  bytes.writeUInt16BE(sequence & 0xffff, 6)
  bytes.writeUInt32BE(source, 12)
  return bytes
}

function counted(...packets: readonly Numbered[]) {
  const gaps = new SequenceGaps()
  for (const one of packets) gaps.take(packet(one))
  const { packets: sent, lost } = gaps.totals
  return [sent, lost]
}

const at = (...sequences: readonly number[]): Numbered[] => sequences.map((sequence) => ({ sequence }))

describe('gaps in the numbers of a camera', () => {
  test.each<[string, readonly Numbered[], number[]]>([
    ['no gap, over the wrap', at(65_534, 65_535, 0, 1), [4, 0]],
    ['three missing', at(10, 11, 15), [6, 3]],
    ['a packet again, and one that comes late', at(10, 12, 12, 11, 13), [4, 1]],
    ['a camera that counts from another number', at(10, 11, 30_000, 30_001), [4, 0]],
    ['another source on the channel', [...at(10, 11), { sequence: 500, source: 8 }], [3, 0]],
    ['two channels', [...at(10), { sequence: 90, channel: 2 }, ...at(11), { sequence: 92, channel: 2 }], [5, 1]],
    ['reports beside them', [...at(10), { sequence: 400, type: 200 }, ...at(11)], [2, 0]],
  ])('%s', (_, packets, expected) => {
    expect(counted(...packets)).toEqual(expected)
  })

  test('any bytes are counted without a loss of more than there are packets', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ minLength: 4, maxLength: 40, size: 'max' }), { maxLength: 30, size: 'max' }),
        (all) => {
          const gaps = new SequenceGaps()
          for (const bytes of all) gaps.take(Buffer.from(bytes))
          expect(gaps.totals.lost).toBeLessThanOrEqual(gaps.totals.packets)
        },
      ),
      cases(2000),
    )
  })
})
