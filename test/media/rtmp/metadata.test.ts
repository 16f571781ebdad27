import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { amfObject, type AmfValue, encodeAmf } from '../../../src/media/rtmp/amf0.ts'
import { MESSAGE, type Message } from '../../../src/media/rtmp/messages.ts'
import { type DeclaredBitrates, MetadataReader, readBitrates } from '../../../src/media/rtmp/metadata.ts'

const message = (payload: Buffer, type: number = MESSAGE.data): Message => ({
  type,
  streamId: 1,
  timestamp: 0,
  payload,
})

const read = (...values: AmfValue[]): DeclaredBitrates => readBitrates(message(encodeAmf(values)))

const RATES = amfObject({ width: 1280, videodatarate: 2500, audiodatarate: 160.5, encoder: 'obs' })

test('the bitrates of a publisher are read from its metadata, however it wraps them', () => {
  const rates = { video: 2_500_000, audio: 160_500 }
  expect(read('@setDataFrame', 'onMetaData', RATES)).toEqual(rates)
  expect(read('onMetaData', RATES)).toEqual(rates)
  const amf3 = Buffer.concat([Buffer.from([0]), encodeAmf(['onMetaData', RATES])])
  expect(readBitrates(message(amf3, MESSAGE.dataAmf3))).toEqual(rates)
  expect(read('onMetaData', amfObject({ videodatarate: 800 }))).toEqual({ video: 800_000 })
})

test.each<[string, AmfValue[]]>([
  ['no values', []],
  ['another event', ['onCuePoint', RATES]],
  ['the end of metadata', ['@clearDataFrame', 'onMetaData']],
  ['no properties', ['@setDataFrame', 'onMetaData', 'text']],
  ['a rate of zero, which ffmpeg sends for constant quality', ['onMetaData', amfObject({ videodatarate: 0 })]],
  ['a negative rate', ['onMetaData', amfObject({ videodatarate: -1 })]],
  ['no number', ['onMetaData', amfObject({ videodatarate: Number.NaN })]],
  ['an endless rate', ['onMetaData', amfObject({ videodatarate: Number.POSITIVE_INFINITY })]],
  ['more than publishers can', ['onMetaData', amfObject({ videodatarate: 200_001 })]],
  ['a text', ['onMetaData', amfObject({ audiodatarate: '128' })]],
])('metadata declares nothing with %s', (_what, values) => expect(read(...values)).toEqual({}))

test('metadata is read no more often than publishers send it, however many other messages come between', () => {
  const reader = new MetadataReader()
  const metadata = message(encodeAmf(['@setDataFrame', 'onMetaData', RATES]))
  const other = message(encodeAmf(['onTextData', RATES]))
  const read = (nowMs: number) => Array.from({ length: 100 }, () => reader.read(metadata, nowMs)).filter(Boolean).length
  for (let sent = 0; sent < 100; sent++) expect(reader.read(other, 0)).toBeNull()
  expect(read(0)).toBe(16)
  expect([read(999), read(1000), read(60_000)]).toEqual([0, 1, 16])
})

test('metadata that is malformed or long declares nothing', () => {
  const whole = encodeAmf(['onMetaData', RATES])
  expect(readBitrates(message(whole.subarray(0, -1)))).toEqual({})
  const padding = amfObject({ videodatarate: 2500, padding: 'x'.repeat(16_384) })
  expect(read('onMetaData', padding)).toEqual({})
  const damaged = fc
    .tuple(fc.nat(whole.length - 1), fc.nat(255))
    .map(([at, byte]) => whole.map((one, index) => (index === at ? byte : one)))
  fc.assert(
    fc.property(
      fc.oneof(fc.uint8Array({ maxLength: 200, size: 'max' }), damaged),
      fc.constantFrom(MESSAGE.data, MESSAGE.dataAmf3),
      (bytes, type) => {
        for (const rate of Object.values(readBitrates(message(Buffer.from(bytes), type)))) {
          expect(rate).toBeLessThanOrEqual(200_000_000)
        }
      },
    ),
  )
})
