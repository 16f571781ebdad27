import { expect, test } from 'vitest'
import { codecName } from '../../../web/dashboard/src/codecName.ts'

test('a codec has one name, whether the API or a browser names it', () => {
  const names = ['h264', 'H264', 'vp8', 'VP9', 'opus', 'aac', 'pcma', ''].map(codecName)
  expect(names).toEqual(['H.264', 'H.264', 'VP8', 'VP9', 'Opus', 'AAC', 'PCMA', ''])
})
