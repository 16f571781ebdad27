import { expect, test } from 'vitest'
import { shownUserAgent } from '../../../web/dashboard/src/pages/settings/userAgent.ts'

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)'

test.each([
  [`Mozilla/5.0 (X11; Linux x86_64) ${WEBKIT} Chrome/140.0.0.0 Safari/537.36`, 'Chrome 140, Linux'],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0`,
    'Edge 140, Windows',
  ],
  [`Mozilla/5.0 (Linux; Android 10; K) ${WEBKIT} Chrome/140.0.0.0 Mobile Safari/537.36`, 'Chrome 140, Android'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox 140, Linux'],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
    'Safari 18, macOS',
  ],
  ['curl/8.14', 'curl/8.14'],
  ['<img src=x>'.repeat(20), '<img src=x>'.repeat(20).slice(0, 60)],
  ['', ''],
])('the browser of a session is shown by its name: %s', (userAgent, shown) => {
  expect(shownUserAgent(userAgent)).toBe(shown)
})
