import { expect, test } from 'vitest'
import { addonProblem } from '../../src/base/addon.ts'

const costs = (missing: readonly string[]): string | undefined =>
  addonProblem((name) => (missing.includes(name) ? null : {}))?.match(/costs processor time: (.*?)\. Install/)?.[1]

test.runIf(process.platform === 'linux')(
  'the price of a missing addon is a sentence without that of the others',
  () => {
    expect(costs(['splice'])).toBe('more than twice as much for a segment of HLS')
    expect(costs(['udp'])).toBe('two to three times as much for a packet of WebRTC')
    expect(costs(['fanout', 'udp', 'splice'])).toMatch(/WebRTC, and more than twice/)
    expect(addonProblem(() => ({}))).toBeNull()
  },
)
