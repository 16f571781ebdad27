import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { withoutSource } from '../../src/base/withoutSource.ts'

const SOURCE = 'rtmp://live.example.com:1936/studio/key%2Fnumber1?token=abcd%20efgh&x=1'

test.each([
  ['pipe:0: Connection refused', 'the source: Connection refused'],
  [`[concat @ 0x1] Impossible to open '${SOURCE}'`, "[concat @ 0x1] Impossible to open 'the source'"],
  ['Connection to tcp://192.0.2.7:1936?tcp_nodelay=0 failed: Timed out', 'Connection to the source failed: Timed out'],
  [`${SOURCE}: Input/output error`, 'the source: Input/output error'],
  ['Failed to resolve hostname live.example.com: Unknown', 'Failed to resolve hostname …: Unknown'],
  ['Server error: no stream key/number1', 'Server error: no stream …'],
  ['Server error: no stream key%2Fnumber1, token abcd efgh', 'Server error: no stream …, token …'],
  ['1 frame was lost', '1 frame was lost'],
])('%s', (said, told) => {
  expect(withoutSource(said, SOURCE)).toBe(told)
})

test.each([
  ['454 no pass:word for you', '454 no … for you'],
  ['454 no pass%3Aword for you', '454 no … for you'],
  ['454 Basic Y2FtZXJhOnBhc3M6d29yZA==', '454 Basic …'],
  ['454 camera', '454 camera'],
  ['454 no far.example.com', '454 no …'],
])('of a source with a login: %s', (said, told) => {
  expect(withoutSource(said, 'rtsp://camera:pass%3Aword@far.example.com:554/a')).toBe(told)
})

const part = fc.stringMatching(/^[A-Za-z0-9_.~-]{6,30}$/)

test('no text about a source contains its key or its passphrase', () => {
  fc.assert(
    fc.property(part, part, fc.array(fc.constantFrom('0', '1', '2', '3', ' ', ': ', '"')), (key, secret, order) => {
      const source = `srt://far.example.com:9000/${key}?passphrase=${secret}`
      const pieces: Record<string, string> = { 0: source, 1: key, 2: secret, 3: `srt://192.0.2.1:9000/${key}` }
      const told = withoutSource(order.map((one) => pieces[one] ?? one).join(' '), source)
      expect([told.includes(key), told.includes(secret)]).toEqual([false, false])
    }),
  )
})
