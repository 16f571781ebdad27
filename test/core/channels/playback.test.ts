import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { parseAddress } from '../../../src/core/access/address.ts'
import { deviceOf } from '../../../src/core/channels/device.ts'
import { readCreateDistribution } from '../../../src/core/channels/distribution.ts'
import { admit, compilePlayback, type PlaybackRules } from '../../../src/core/channels/playback.ts'
import { masterPlaylist, mediaPlaylist, segmentTimesOf, variantsOf } from '../../../src/core/channels/playlist.ts'
import type { Distribution, Engine } from '../../../src/core/channels/types.ts'
import { parseViewerToken, problemOfClaims } from '../../../src/core/channels/viewerToken.ts'

const T0 = 1_750_000_000_000

function distribution(security: object = {}): Distribution {
  const settings = {
    regions: ['local'],
    rtmpUrl: '',
    allowPrivateSources: false,
    refuseKey: () => null,
    viewerClaim: 'streaming',
  }
  const read = readCreateDistribution({ name: 'web', security }, settings)
  if (!read.ok) throw new Error(JSON.stringify(read.error))
  const ids = { id: 'di_1', accountId: 'a', channelId: 'ch_1' }
  return { ...read.value.rules, ...ids, engineIds: ['a', 'b', 'c'], createdAtMs: 0, updatedAtMs: 0 }
}

const anyKey: PlaybackRules['keys'] = [{ id: 'ke_1', verify: () => true }]
const peer = parseAddress('192.0.2.1') ?? expect.fail()
const viewer = { address: peer, country: 'NZ', referer: undefined, userAgent: undefined, nowMs: T0 }

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const token = (payload: object, header: object = { alg: 'HS256' }): string =>
  `${encode(header)}.${encode(payload)}.AAAA`
const EXP = T0 / 1000 + 60

/** Our claim, and the claim of tokens that were signed for a hosted service. */
const claimName = fc.constantFrom('streaming', 'optiview')

describe('a viewer token', () => {
  const restriction = fc.record(
    {
      ch: fc.array(fc.constantFrom('ch_1', 'ch_2'), { maxLength: 2 }),
      geo: fc.record({ cc: fc.array(fc.constantFrom('NZ', 'nz', 'NL'), { maxLength: 2 }) }),
      hw: fc.array(fc.constantFrom('desktop', 'tv'), { maxLength: 2 }),
    },
    { requiredKeys: [] },
  )

  it('is valid exactly when every part of it is valid', () => {
    fc.assert(
      fc.property(restriction, fc.integer({ min: -2, max: 2 }), claimName, (restricted, seconds, name) => {
        const exp = T0 / 1000 + seconds
        const { ch, geo, hw } = restricted
        const holds =
          seconds > 0 &&
          (ch?.includes('ch_1') ?? true) &&
          (geo ? geo.cc.some((code) => code.toUpperCase() === 'NZ') : true) &&
          (hw?.includes('desktop') ?? true)
        const rules = compilePlayback(distribution(), [], anyKey)
        expect(admit(rules, viewer, token({ exp, [name]: restricted }), 'streaming').ok).toBe(holds)
      }),
      { numRuns: 500 },
    )
  })

  it('may be any text, and unknown text grants nothing', () => {
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
    ['market areas that are none', token({ exp: EXP, streaming: { geo: { dma: [{}] } } })],
    ['a tracking id that is too long', token({ exp: EXP, streaming: { tid: 'x'.repeat(129) } })],
    ['four parts', `${token({ exp: EXP })}.AAAA`],
    ['a second exp', `${encode({ alg: 'HS256' })}.${Buffer.from(`{"exp":1,"exp":${EXP}}`).toString('base64url')}.AAAA`],
  ])('with %s is refused', (_, text) => {
    expect(parseViewerToken(text, 'streaming').ok).toBe(false)
  })

  it('restricts under the configured claim, and no longer under the default one', () => {
    const parsed = (payload: object) => parseViewerToken(token({ exp: EXP, ...payload }), 'acme')
    expect(parsed({ acme: { ch: ['ch_2'] } })).toMatchObject({ value: { claims: { channels: ['ch_2'] } } })
    expect(parsed({ optiview: { ch: ['ch_2'] } })).toMatchObject({ value: { claims: { channels: ['ch_2'] } } })
    expect(parsed({ streaming: { ch: ['ch_2'] } })).toMatchObject({
      ok: false,
      error: expect.stringContaining('streaming'),
    })
  })

  test.each<[string, object, string]>([
    ['under both claims', { streaming: { ch: ['ch_1'] }, optiview: { ch: ['ch_1'] } }, 'streaming and optiview'],
    ['under both claims, one of them empty', { streaming: {}, optiview: { ch: ['ch_1'] } }, 'streaming and optiview'],
    ['under a claim in another case', { Streaming: { ch: ['ch_1'] } }, 'Streaming'],
    ['under a claim in another case that only counts', { OptiView: { tid: 'x' } }, 'OptiView'],
    ['under a misspelt claim', { steaming: { hw: ['tv'] } }, 'steaming'],
    ['under the claim of another service', { acme: { geo: { cc: ['NZ'] } } }, 'acme'],
    ['under another claim, in another case', { acme: { CH: ['ch_1'] } }, 'acme'],
    ['under another claim beside ours', { streaming: { ch: ['ch_1'] }, acme: { hw: ['tv'] } }, 'acme'],
    ['under another claim, in the older spelling', { acme: { cc: ['NZ'] } }, 'acme'],
    ['under no claim', { ch: ['ch_1'] }, 'ch'],
  ])('with restrictions %s is refused, and the reason names them', (_, payload, name) => {
    const parsed = parseViewerToken(token({ exp: EXP, ...payload }), 'streaming')
    expect(parsed.ok ? '' : parsed.error).toContain(name)
  })

  test.each<[string, object]>([
    ['claims that are no business of ours', { sub: 'user-1', iss: 'shop', acme: { plan: 'gold' }, roles: ['a'] }],
    ['a claim of ours that is null', { streaming: null, optiview: { ch: ['ch_1'] } }],
    ['the same claim named by the operator', { optiview: { ch: ['ch_1'] } }],
  ])('with %s is accepted', (_, payload) => {
    for (const claim of ['streaming', 'optiview']) {
      expect(parseViewerToken(token({ exp: EXP, ...payload }), claim)).toMatchObject({ ok: true })
    }
  })

  it('is refused with a printable name, whatever the claim is called', () => {
    const parsed = parseViewerToken(token({ exp: EXP, [`\u202e${'x'.repeat(500)}`]: { ch: [] } }), 'streaming')
    expect(parsed.ok ? '' : parsed.error).toMatch(/^\uFFFDx{20,80}… is not read/)
  })

  it('may have its restrictions in the older spelling, which is ignored beside the newer one', () => {
    const allows = (streaming: object) => {
      const rules = compilePlayback(distribution(), [], anyKey)
      return admit(rules, viewer, token({ exp: EXP, streaming }), 'streaming').ok
    }
    expect(allows({ cc: ['NZ'] })).toBe(true)
    expect(allows({ cc: ['NL'] })).toBe(false)
    expect(allows({ cc: ['NL'], geo: { cc: ['NZ'] } })).toBe(true)
    expect(allows({ geo: { cc: ['NZ'], rgn: ['CA'] } })).toBe(true)
    expect(allows({ geo: { cc: ['NZ'], dma: [807, 501] } })).toBe(true)
    // Each of the older lists must match, and no viewer is known to be in a region or a market area.
    expect(allows({ cc: ['NZ'], rgn: ['NZ-AUK'] })).toBe(false)
    expect(allows({ cc: ['NZ'], dma: [807] })).toBe(false)
    expect(allows({ dma: ['807'] })).toBe(false)
    expect(allows({ geo: { dma: ['501'] } })).toBe(false)
    expect(allows({ geo: {} })).toBe(true)
  })
})

describe('engines', () => {
  it('serve in the order of their priority, the older first among equals, and only those that feed it', () => {
    const engine = (id: string, priority: number, createdAtMs: number) => ({ id, priority, createdAtMs }) as Engine
    const all = [engine('a', 5, 1), engine('b', -1, 3), engine('c', -1, 2), engine('d', -100, 1)]
    expect(compilePlayback(distribution(), all, []).engines.map(({ id }) => id)).toEqual(['c', 'b', 'a'])
  })
})

describe('playlists', () => {
  it('are split into variants and joined again', () => {
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

  it('give the duration of each segment', () => {
    const playlist =
      '#EXTM3U\n#EXTINF:2.000000,\n#EXT-X-PROGRAM-DATE-TIME:x\n0_7.m4s\n#EXTINF:1.9666,a title\r\n0_8.m4s\r\n'
    expect(segmentTimesOf(`${playlist}#EXTINF:no,\n0_9.m4s\n0_10.m4s\n`)).toEqual([
      ['0_7.m4s', 2000],
      ['0_8.m4s', 1967],
    ])
  })

  describe('of an engine whose ffmpeg was restarted', () => {
    /** A playlist as ffmpeg writes it, from the launch number of each segment. */
    const written = (sequence: number, launches: readonly number[]): string =>
      [
        '#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:2',
        `#EXT-X-MEDIA-SEQUENCE:${sequence}`,
        `#EXT-X-MAP:URI="${launches.at(-1)}_1.mp4"`,
        ...launches.flatMap((launch, at) => [
          ...(launch === (launches[at - 1] ?? launch) ? [] : ['#EXT-X-DISCONTINUITY']),
          '#EXTINF:2.000000,\n#EXT-X-PROGRAM-DATE-TIME:2026-11-21T09:36:50.393+0000',
          `${launch}_${sequence + at}.m4s`,
        ]),
        '',
      ].join('\n')
    const shown = (text: string) => mediaPlaylist(text, { latencySeconds: 10, addressOf: (uri) => `${uri}?t=1` })

    /** The view of a player: the name, discontinuity sequence number and init segment of each segment. */
    function read(playlist: string): string[] {
      const segments: string[] = []
      let [discontinuity, init] = [0, '']
      for (const line of playlist.split('\n')) {
        if (line === '#EXT-X-DISCONTINUITY') discontinuity += 1
        discontinuity = Number(/^#EXT-X-DISCONTINUITY-SEQUENCE:(\d+)/.exec(line)?.[1] ?? discontinuity)
        init = /^#EXT-X-MAP:URI="(.*)"/.exec(line)?.[1] ?? init
        if (line !== '' && !line.startsWith('#')) segments.push(`${line} ${discontinuity} ${init}`)
      }
      return segments
    }

    it('have a discontinuity and the init segment of each launch', () => {
      const text = shown(written(7, [2, 2, 3]))
      expect(text.replaceAll(/#EXT-X-PROGRAM.*\n/g, '')).toBe(`#EXTM3U
#EXT-X-VERSION:7
#EXT-X-TARGETDURATION:2
#EXT-X-SERVER-CONTROL:HOLD-BACK=10.0
#EXT-X-MEDIA-SEQUENCE:7
#EXT-X-DISCONTINUITY-SEQUENCE:2
#EXT-X-MAP:URI="2_1.mp4?t=1"
#EXTINF:2.000000,
2_7.m4s?t=1
#EXTINF:2.000000,
2_8.m4s?t=1
#EXT-X-DISCONTINUITY
#EXT-X-MAP:URI="3_1.mp4?t=1"
#EXTINF:2.000000,
3_9.m4s?t=1
`)
    })

    it('describe a segment the same way as long as it is listed, also after launches without output', () => {
      const steps = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 30 })
      fc.assert(
        fc.property(steps, fc.integer({ min: 1, max: 10 }), (up, length) => {
          const launches = up.map((_, at) => up.slice(0, at + 1).reduce((sum, step) => sum + step, 0))
          const everything = launches.map((launch, at) => `${launch}_${at}.m4s?t=1 ${launch} ${launch}_1.mp4?t=1`)
          for (const from of launches.keys()) {
            const window = launches.slice(from, from + length)
            expect(read(shown(written(from, window)))).toEqual(everything.slice(from, from + length))
          }
        }),
      )
    })
  })

  it('may be any text', () => {
    const lines = [
      '#EXT-X-MAP:URI="1_0.mp4"',
      '#EXTINF:2,',
      '#EXT-X-DISCONTINUITY',
      '0_1.m4s',
      '999999999_2.m4s',
      '_3.m4s',
    ]
    const anyPlaylist = fc.oneof(
      fc.string(),
      fc.array(fc.constantFrom(...lines)).map((all) => all.join('\n')),
    )
    fc.assert(
      fc.property(anyPlaylist, (text) => {
        expect(variantsOf(text).length).toBeLessThanOrEqual(64)
        expect(segmentTimesOf(text).length).toBeLessThanOrEqual(1000)
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
