import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { parseAddress } from '../../../src/core/access/address.ts'
import { deviceOf } from '../../../src/core/channels/device.ts'
import { readCreateDistribution } from '../../../src/core/channels/distribution.ts'
import {
  admit,
  compilePlayback,
  type Grant,
  type PlaybackRules,
  refuseGranted,
} from '../../../src/core/channels/playback.ts'
import type { Distribution, Engine } from '../../../src/core/channels/types.ts'
import { parseViewerToken, problemOfClaims } from '../../../src/core/channels/viewerToken.ts'
import { CHANNEL_SETTINGS } from '../../support/channelSettings.ts'

const T0 = 1_750_000_000_000

function distribution(security: object = {}): Distribution {
  const read = readCreateDistribution({ name: 'web', security }, CHANNEL_SETTINGS)
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
/** A token of so many characters. */
const sized = (length: number): string => {
  const bare = token({ exp: EXP })
  return `${bare}${'A'.repeat(length - bare.length)}`
}

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
        const rules = compilePlayback(distribution(), [], anyKey, new Map())
        expect(admit(rules, viewer, token({ exp, [name]: restricted }), 'streaming').ok).toBe(holds)
      }),
      { numRuns: 500 },
    )
  })

  it('may be any text, and any claim, of which nothing unknown is ignored', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parseViewerToken(text, 'streaming').ok).toBe(false)
      }),
    )
    fc.assert(
      fc.property(fc.anything(), (streaming) => {
        const [sent] = JSON.parse(JSON.stringify([streaming])) as [unknown]
        const isEmpty = sent === null || JSON.stringify(sent) === '{}'
        const geo = parseViewerToken(token({ exp: EXP, streaming: { geo: streaming } }), 'streaming')
        expect(geo.ok).toBe(isEmpty)
        expect(parseViewerToken(token({ exp: EXP, streaming }), 'streaming').ok).toBe(isEmpty)
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
    ['a place of a kind that is unknown', token({ exp: EXP, streaming: { geo: { country: ['NZ'] } } })],
    ['market areas that are none', token({ exp: EXP, streaming: { geo: { dma: [{}] } } })],
    ['a tracking id that is too long', token({ exp: EXP, streaming: { tid: 'x'.repeat(129) } })],
    ['a tracking id that no database takes', token({ exp: EXP, streaming: { tid: 'a\0b' } })],
    ['a viewer who has too much data', token({ exp: EXP, streaming: { cvd: 'x'.repeat(1025) } })],
    ['a time that none can be', token({ exp: 1e11 })],
    ['four parts', `${token({ exp: EXP })}.AAAA`],
    ['8,193 characters', sized(8193)],
    ['a second exp', `${encode({ alg: 'HS256' })}.${Buffer.from(`{"exp":1,"exp":${EXP}}`).toString('base64url')}.AAAA`],
  ])('with %s is refused', (_, text) => {
    expect(parseViewerToken(text, 'streaming').ok).toBe(false)
  })

  it('may be as long as 8,192 characters, and what it says as long as each part may be', () => {
    expect(parseViewerToken(sized(8192), 'streaming')).toMatchObject({ ok: true })
    const streaming = { tid: 'x'.repeat(128), cvd: 'x'.repeat(1024) }
    expect(parseViewerToken(token({ exp: EXP, streaming }), 'streaming')).toMatchObject({
      value: { claims: { expMs: EXP * 1000, nbfMs: null, iatMs: null, trackingId: streaming.tid, channels: null } },
    })
  })

  test.each<[object, string | null]>([
    [{ nbfMs: T0 + 60_000, iatMs: T0 + 60_000 }, null],
    [{ nbfMs: T0 + 60_001 }, 'invalid_token'],
    [{ iatMs: T0 + 60_001 }, 'invalid_token'],
    [{ expMs: T0, nbfMs: T0 + 60_001 }, 'token_expired'],
    [{ iatMs: T0 + 60_001, channels: [] }, 'invalid_token'],
    [{ channels: ['ch_2'], countries: [] }, 'channel_not_allowed'],
    [{ countries: ['NL'], devices: ['tv'] }, 'country_not_allowed'],
    [{ countries: ['NZ'], devices: ['tv'] }, 'device_not_allowed'],
  ])('that says %j is refused for the first reason: %s', (said, problem) => {
    const nothing = { nbfMs: null, iatMs: null, channels: null, countries: null, devices: null, trackingId: null }
    const claims = { ...nothing, expMs: T0 + 1, ...said }
    expect(problemOfClaims(claims, { ...viewer, channelId: 'ch_1' })).toBe(problem)
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
      const rules = compilePlayback(distribution(), [], anyKey, new Map())
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

  it('is not restricted by a member that is null, as signers write that fill in all of them', () => {
    const none = { ch: null, hw: null, tid: null, cvd: null, cc: null, rgn: null, dma: null }
    for (const geo of [null, { cc: null, rgn: null, dma: null }]) {
      const parsed = parseViewerToken(token({ exp: EXP, streaming: { ...none, geo } }), 'streaming')
      expect(parsed).toMatchObject({ value: { claims: { channels: null, countries: null, devices: null } } })
    }
    const other = parseViewerToken(token({ exp: EXP, streaming: { ...none, geo: { cc: ['NZ'], dma: null } } }), 'x')
    expect(other.ok ? '' : other.error).toContain('streaming')
    expect(parseViewerToken(token({ exp: EXP, streaming: { ip: null } }), 'streaming').ok).toBe(false)
    const narrowed = parseViewerToken(token({ exp: EXP, streaming: { ...none, geo: { cc: ['NZ'] } } }), 'streaming')
    expect(narrowed).toMatchObject({ value: { claims: { countries: ['NZ'] } } })
  })
})

describe('the rules of a distribution', () => {
  const reasonFor = (security: object, who: object = {}): string => {
    const answer = admit(
      compilePlayback(distribution(security), [], [], new Map()),
      { ...viewer, ...who },
      null,
      'streaming',
    )
    return answer.ok ? 'admitted' : answer.error.code
  }
  const geo = (mode: string, enabled = true) => ({ geoBlocking: { enabled, mode, countries: ['nl'] } })
  const ip = (mode: string, enabled = true) => ({
    ipBlocking: { enabled, mode, cidrs: ['192.0.2.0/24', '2001:db8::/32'] },
  })
  const all = (network: string) => ({ ipBlocking: { enabled: true, mode: 'allow', cidrs: [network] } })
  const pages = (more: object = {}) => ({
    refererBlocking: { enabled: true, allowedDomains: ['Shop.example', 'localhost:3000'], ...more },
  })
  const from = (referer: string | undefined) => ({ referer })
  const at = (text: string) => ({ address: parseAddress(text) })

  test.each<[string, object, object, string]>([
    ['a country that is listed, allowed', geo('allow'), { country: 'NL' }, 'admitted'],
    ['another country', geo('allow'), {}, 'country_not_allowed'],
    ['an unknown country beside an allow list', geo('allow'), { country: null }, 'country_not_allowed'],
    ['a country that is listed, denied', geo('deny'), { country: 'NL' }, 'country_not_allowed'],
    ['an unknown country beside a deny list', geo('deny'), { country: null }, 'admitted'],
    ['a list that is off', geo('allow', false), {}, 'admitted'],
    ['an address of a network, allowed', ip('allow'), {}, 'admitted'],
    ['the same for IPv6', ip('allow'), at('2001:db8::1'), 'admitted'],
    ['another address', ip('allow'), at('198.51.100.1'), 'address_not_allowed'],
    ['an address of a network, denied', ip('deny'), {}, 'address_not_allowed'],
    ['networks that are off', ip('deny', false), {}, 'admitted'],
    ['an IPv4 address beside all of IPv6', all('::/0'), {}, 'address_not_allowed'],
    ['an IPv6 address beside all of IPv4', all('0.0.0.0/0'), at('2001:db8::1'), 'address_not_allowed'],
    ['the country before the address', { ...geo('allow'), ...all('::/0') }, {}, 'country_not_allowed'],
    ['the address before the page', { ...all('::/0'), ...pages() }, {}, 'address_not_allowed'],
    ['a page that is listed', pages(), from('https://shop.example/a'), 'admitted'],
    ['a page with its port', pages(), from('http://localhost:3000/'), 'admitted'],
    ['a page on another port', pages(), from('https://shop.example:8443/'), 'referer_not_allowed'],
    ['a page without a host', pages(), from('about:blank'), 'referer_not_allowed'],
    ['a referer that is no address', pages(), from('shop.example'), 'referer_not_allowed'],
    ['no referer', pages(), from(undefined), 'referer_not_allowed'],
    ['an empty referer', pages(), from(''), 'referer_not_allowed'],
    ['an empty referer of an app', pages({ allowNativeApps: true }), from(''), 'admitted'],
    ['no referer, of an app', pages({ allowNativeApps: true }), from(undefined), 'admitted'],
    ['pages that are off', pages({ enabled: false }), from('https://other.example/'), 'admitted'],
  ])('decide on %s', (_, security, who, expected) => {
    expect(reasonFor(security, who)).toBe(expected)
  })

  it('leave nothing to play where it is off, and need a token as soon as there was a key', () => {
    const reasonOf = (over: Partial<Distribution>, keys: PlaybackRules['keys'] = []) => {
      const answer = admit(
        compilePlayback({ ...distribution(), ...over }, [], keys, new Map()),
        viewer,
        null,
        'streaming',
      )
      return answer.ok ? answer.value : answer.error.code
    }
    const open: Grant = { keyId: null, untilMs: null, trackingId: null, countries: null, devices: null }
    expect(reasonOf({})).toEqual(open)
    const ignored = admit(compilePlayback(distribution(), [], [], new Map()), viewer, 'no token at all', 'streaming')
    expect(ignored).toEqual({ ok: true, value: open })
    expect([{ enabled: false }, { hls: false }].map((over) => reasonOf(over))).toEqual(['not_found', 'not_found'])
    expect([reasonOf({}, anyKey), reasonOf({ closedWithoutKey: true })]).toEqual(['token_required', 'token_required'])
  })

  it('hold for a viewer with a ticket as long as it watches, with its key and all that its token says', () => {
    const grant: Grant = { keyId: 'ke_1', untilMs: T0 + 1, trackingId: null, countries: ['NZ'], devices: ['desktop'] }
    const reasonOf = (rules: Partial<PlaybackRules>, over: Partial<Grant> = {}, who: object = {}) =>
      refuseGranted(
        { ...compilePlayback(distribution(geo('deny')), [], anyKey, new Map()), ...rules },
        { ...grant, ...over },
        { ...viewer, ...who },
      )?.code ?? 'admitted'
    expect(reasonOf({})).toBe('admitted')
    expect(reasonOf({}, { untilMs: null, countries: null, devices: null })).toBe('admitted')
    expect(reasonOf({}, {}, { country: 'NL' })).toBe('country_not_allowed')
    expect(reasonOf({}, { countries: ['NL'] })).toBe('country_not_allowed')
    expect(reasonOf({}, { devices: ['tv'] })).toBe('device_not_allowed')
    expect(reasonOf({}, {}, { nowMs: T0 + 1 })).toBe('token_expired')
    expect(reasonOf({}, { keyId: null })).toBe('token_required')
    expect(reasonOf({}, { keyId: 'ke_2' })).toBe('invalid_token')
    // An open distribution forgets tokens, and not its own rules.
    const open = { isOpen: true }
    expect([reasonOf(open, { keyId: 'ke_2' }), reasonOf(open, {}, { country: 'NL' })]).toEqual([
      'admitted',
      'country_not_allowed',
    ])
  })
})

describe('engines', () => {
  it('serve in the order of their priority, the older first among equals, and only those that feed it', () => {
    const engine = (id: string, priority: number, createdAtMs: number) => ({ id, priority, createdAtMs }) as Engine
    const serving = (...all: Engine[]) =>
      compilePlayback(distribution(), all, [], new Map()).engines.map(({ id }) => id)
    const all = [engine('a', 5, 1), engine('b', -1, 3), engine('c', -1, 2), engine('d', -100, 1)]
    expect(serving(...all)).toEqual(['c', 'b', 'a'])
    expect(serving(engine('b', 0, 1), engine('a', 0, 1))).toEqual(['a', 'b'])
  })
})

describe('a device', () => {
  test.each([
    ['Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/130.0 Safari/537.36', 'desktop'],
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E148 Safari/604.1', 'mobile'],
    ['Mozilla/5.0 (Linux; Android 15; Pixel 9) Chrome/130.0 Mobile Safari/537.36', 'mobile'],
    ['Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 Chrome/108.0 Safari/537.36', 'tv'],
    ['AppleCoreMedia/1.0.0.21L227 (Apple TV; U; CPU OS 18_0 like Mac OS X)', 'tv'],
    ['Mozilla/5.0 (SMART-TV; LINUX; Tizen 8.0) AppleWebKit/537.36 TV Safari/537.36', 'tv'],
    ['Mozilla/5.0 (Linux; Android 9; AFTMM) AppleWebKit/537.36 Chrome/110.0 Mobile Safari/537.36', 'tv'],
    ['Mozilla/5.0 (Linux; Android 12) AppleWebKit/537.36 Chrome/110.0 Safari/537.36 CrKey/1.56', 'tv'],
    ['Roku/DVP-12.5 (12.5.0.4178)', 'tv'],
    ['Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) Version/16.6 Safari/604.1', 'mobile'],
    ['', 'desktop'],
    [undefined, 'desktop'],
  ])('%s is a %s', (userAgent, device) => {
    expect(deviceOf(userAgent)).toBe(device)
  })
})
