import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { parseAddress } from '../../../src/core/access/address.ts'
import { deviceOf } from '../../../src/core/live/device.ts'
import { readCreateDistribution } from '../../../src/core/live/distribution.ts'
import { admit, compilePlayback, type PlaybackRules } from '../../../src/core/live/playback.ts'
import { masterPlaylist, mediaPlaylist, variantsOf } from '../../../src/core/live/playlist.ts'
import type { Distribution, Engine } from '../../../src/core/live/types.ts'
import { parseViewerToken, problemOfClaims } from '../../../src/core/live/viewerToken.ts'

const T0 = 1_750_000_000_000

function distribution(security: object = {}): Distribution {
  const settings = { regions: ['local'], rtmpUrl: '', allowPrivateSources: false, refuseKey: () => null }
  const read = readCreateDistribution({ name: 'web', security }, settings)
  if (!read.ok) throw new Error(JSON.stringify(read.error))
  const ids = { id: 'di_1', accountId: 'a', channelId: 'ch_1' }
  return { ...read.value.rules, ...ids, engineIds: ['a', 'b', 'c'], createdAtMs: 0, updatedAtMs: 0 }
}

const anyKey: PlaybackRules['keys'] = [{ id: 'ke_1', verify: () => true }]
const peer = parseAddress('192.0.2.1') ?? expect.fail()
const viewer = { address: peer, country: 'NZ', referer: undefined, device: 'desktop' as const, nowMs: T0 }

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const token = (payload: object, header: object = { alg: 'HS256' }): string =>
  `${encode(header)}.${encode(payload)}.AAAA`
const EXP = T0 / 1000 + 60

describe('a viewer token', () => {
  const restriction = fc.record(
    {
      ch: fc.array(fc.constantFrom('ch_1', 'ch_2'), { maxLength: 2 }),
      geo: fc.record({ cc: fc.array(fc.constantFrom('NZ', 'nz', 'NL'), { maxLength: 2 }) }),
      hw: fc.array(fc.constantFrom('desktop', 'tv'), { maxLength: 2 }),
    },
    { requiredKeys: [] },
  )

  it('holds exactly when every part of it holds', () => {
    fc.assert(
      fc.property(restriction, fc.integer({ min: -2, max: 2 }), (streaming, seconds) => {
        const exp = T0 / 1000 + seconds
        const { ch, geo, hw } = streaming
        const holds =
          seconds > 0 &&
          (ch?.includes('ch_1') ?? true) &&
          (geo ? geo.cc.some((code) => code.toUpperCase() === 'NZ') : true) &&
          (hw?.includes('desktop') ?? true)
        const rules = compilePlayback(distribution(), [], anyKey)
        expect(admit(rules, viewer, token({ exp, streaming }), 'streaming').ok).toBe(holds)
      }),
      { numRuns: 500 },
    )
  })

  it('is any text, and what is not understood is no permission', () => {
    const anything = fc.oneof(
      fc.string(),
      fc.anything().map((value) => token({ exp: EXP, streaming: value })),
    )
    fc.assert(
      fc.property(anything, (text) => {
        const parsed = parseViewerToken(text, 'streaming')
        if (parsed.ok) expect(problemOfClaims(parsed.value.claims, { ...viewer, channelId: 'ch_1' })).toBeDefined()
      }),
    )
  })

  test.each<[string, string]>([
    ['no algorithm', token({ exp: EXP }, {})],
    ['alg none', token({ exp: EXP }, { alg: 'none' })],
    ['a critical extension', token({ exp: EXP }, { alg: 'HS256', crit: ['b64'] })],
    ['no exp', token({})],
    ['exp as text', token({ exp: String(EXP) })],
    ['nbf as text', token({ exp: EXP, nbf: '1' })],
    ['a claim that is no object', token({ exp: EXP, streaming: [] })],
    ['an unknown restriction', token({ exp: EXP, streaming: { ip: ['192.0.2.1'] } })],
    ['a list that is none', token({ exp: EXP, streaming: { ch: 'ch_1' } })],
    ['a tracking id that is too long', token({ exp: EXP, streaming: { tid: 'x'.repeat(129) } })],
    ['four parts', `${token({ exp: EXP })}.AAAA`],
    ['a second exp', `${encode({ alg: 'HS256' })}.${Buffer.from(`{"exp":1,"exp":${EXP}}`).toString('base64url')}.AAAA`],
  ])('with %s is refused', (_, text) => {
    expect(parseViewerToken(text, 'streaming').ok).toBe(false)
  })

  it('may have its restrictions in the older spelling, which does not count beside the newer one', () => {
    const allows = (streaming: object) => {
      const rules = compilePlayback(distribution(), [], anyKey)
      return admit(rules, viewer, token({ exp: EXP, streaming }), 'streaming').ok
    }
    expect(allows({ cc: ['NZ'] })).toBe(true)
    expect(allows({ cc: ['NL'] })).toBe(false)
    expect(allows({ cc: ['NL'], geo: { cc: ['NZ'] } })).toBe(true)
    expect(allows({ geo: { cc: ['NZ'], rgn: ['CA'] } })).toBe(true)
    expect(allows({ geo: { dma: ['501'] } })).toBe(false)
    expect(allows({ geo: {} })).toBe(true)
  })
})

describe('engines', () => {
  it('serve in the order of their priority, among equals the older first, and only those that feed it', () => {
    const engine = (id: string, priority: number, createdAtMs: number) => ({ id, priority, createdAtMs }) as Engine
    const all = [engine('a', 5, 1), engine('b', -1, 3), engine('c', -1, 2), engine('d', -100, 1)]
    expect(compilePlayback(distribution(), all, []).engines.map(({ id }) => id)).toEqual(['c', 'b', 'a'])
  })
})

describe('playlists', () => {
  it('are taken apart and put together again', () => {
    const master =
      '#EXTM3U\n#EXT-X-STREAM-INF:AVERAGE-BANDWIDTH=5,BANDWIDTH=10\r\n0/index.m3u8\n#EXT-X-STREAM-INF:X=1\nx\n'
    const [variant, ...others] = variantsOf(master)
    expect([variant?.bandwidth, variant?.uri, others]).toEqual([10, '0/index.m3u8', []])
    expect(masterPlaylist(variant ? [variant] : [])).toContain(`${variant?.line}\n0/index.m3u8\n`)
    for (const none of ['', '#EXTM3U', '#EXT-X-STREAM-INF:BANDWIDTH=1', '#EXT-X-STREAM-INF:BANDWIDTH=1\n#EXTINF']) {
      expect(variantsOf(none)).toEqual([])
    }
  })

  it('ask players to stay behind by no less than three segments', () => {
    const playlist = '#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n1.m4s\n'
    const shown = mediaPlaylist(playlist, { latencySeconds: 6, addressOf: (uri) => `${uri}?t=1` })
    expect(shown).toBe(
      '#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-SERVER-CONTROL:HOLD-BACK=12.0\n#EXTINF:4,\n1.m4s?t=1\n',
    )
  })

  it('are any text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(variantsOf(text).length).toBeLessThanOrEqual(64)
        expect(typeof mediaPlaylist(text, { latencySeconds: 10, addressOf: (uri) => uri })).toBe('string')
      }),
    )
  })
})

describe('a device', () => {
  test.each([
    ['Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/130.0 Safari/537.36', 'desktop'],
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E148 Safari/604.1', 'mobile'],
    ['Mozilla/5.0 (Linux; Android 15; Pixel 9) Chrome/130.0 Mobile Safari/537.36', 'mobile'],
    ['Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 Chrome/108.0 Safari/537.36', 'tv'],
    ['AppleCoreMedia/1.0.0.21L227 (Apple TV; U; CPU OS 18_0 like Mac OS X)', 'tv'],
    ['', 'desktop'],
    [undefined, 'desktop'],
  ])('%s is a %s', (userAgent, device) => {
    expect(deviceOf(userAgent)).toBe(device)
  })
})
