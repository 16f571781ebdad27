import { expect, test } from 'vitest'
import { areFor, asUrlHost } from '../../src/base/certificateNames.ts'

test('names of a certificate are for hosts as URLs write them', () => {
  const names = ['Live.example', '*.Nodes.example', '192.0.2.7', '0:0:0:0:0:0:0:1', 'b\u00fccher.example']
  const isFor = (url: string): boolean => areFor(names, new URL(url).hostname)
  expect(
    [
      'https://LIVE.example',
      'https://a.nodes.example:8443',
      'https://192.0.2.7',
      'https://[::1]:1',
      'https://b\u00fccher.example',
    ].map(isFor),
  ).toEqual([true, true, true, true, true])
  expect(
    ['https://nodes.example', 'https://a.b.nodes.example', 'https://alive.example', 'https://[::2]'].map(isFor),
  ).toEqual([false, false, false, false])
  expect([asUrlHost(''), asUrlHost('a b'), asUrlHost('[::1')]).toEqual([null, null, null])
})
