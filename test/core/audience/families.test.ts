import { expect, it } from 'vitest'
import { familiesOf, siteOfOrigin } from '../../../src/core/audience/families.ts'

it.each([
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
    'desktop',
    'Chrome',
  ],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0',
    'desktop',
    'Edge',
  ],
  [
    'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 OPR/124.0.0.0',
    'desktop',
    'Opera',
  ],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', 'desktop', 'Firefox'],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15',
    'desktop',
    'Safari',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/142.0 Mobile/15E148 Safari/604.1',
    'mobile',
    'Chrome',
  ],
  [
    'Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36',
    'mobile',
    'Samsung Internet',
  ],
  ['AppleCoreMedia/1.0.0.22G86 (iPhone; U; CPU OS 18_6 like Mac OS X; en_us)', 'mobile', 'AVPlayer'],
  ['AppleCoreMedia/1.0.0.22M84 (AppleTV; U; CPU OS 18_5 like Mac OS X; en_us)', 'tv', 'AVPlayer'],
  ['SomeApp/2.1 (Linux;Android 15) AndroidXMedia3/1.8.0', 'mobile', 'ExoPlayer'],
  ['VLC/3.0.21 LibVLC/3.0.21', 'desktop', 'VLC'],
  ['Lavf/61.7.100', 'desktop', 'FFmpeg'],
  ['curl/8.14.1', 'desktop', 'Other'],
])('%s', (userAgent, device, browser) => {
  expect(familiesOf(userAgent)).toEqual({ device, browser })
})

it('knows nothing of a program without a name, and takes no time for a long one', () => {
  expect(familiesOf(undefined)).toBe(null)
  expect(familiesOf('')).toBe(null)
  expect(familiesOf('x'.repeat(100_000))).toEqual({ device: 'desktop', browser: 'Other' })
})

it('takes the host of a page', () => {
  expect(['https://TV.example.com:8443', 'http://[::1]:80', 'null', '', 'javascript:x'].map(siteOfOrigin)).toEqual([
    'tv.example.com',
    '[::1]',
    '',
    '',
    '',
  ])
  expect(siteOfOrigin(null)).toBe('')
})
