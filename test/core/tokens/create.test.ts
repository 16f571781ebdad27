import { describe, expect, it, test } from 'vitest'
import { readTokenCreate } from '../../../src/core/tokens/create.ts'
import { error, plainBody, value } from './samples.ts'

const KINDS = ['publish', 'subscribe'] as const
const rules = (kind: 'publish' | 'subscribe', changes: object) => value(readTokenCreate(kind, plainBody(changes))).rules
const errors = (kind: 'publish' | 'subscribe', changes: object) => error(readTokenCreate(kind, plainBody(changes)))

describe('defaults', () => {
  it('create a publish token that restricts nothing and never expires', () => {
    expect(value(readTokenCreate('publish', plainBody()))).toEqual({
      expiresSeconds: null,
      restreamKeys: [],
      rules: {
        label: 'Studio',
        streams: [{ streamName: 'studio', isRegex: false }],
        isActive: true,
        allowedOrigins: [],
        allowedIpAddresses: [],
        bindIpsOnUsage: 0,
        allowedCountries: [],
        deniedCountries: [],
        endSessionsOnUpdate: true,
        endAtExpiry: false,
        subscribeRequiresAuth: false,
        record: false,
        enableThumbnails: false,
        multisource: true,
        enableUTCInsertion: false,
        transcode: false,
        displaySrtPassphrase: false,
        originCluster: '',
        geoCascade: null,
        priority: null,
        hlsRenditions: [],
        hlsCodecs: 'h264',
        restream: [],
        trackingId: null,
        maxViewers: 0,
        recordingDays: null,
      },
    })
  })

  it('leave the publish-only flags of a subscribe token false', () => {
    expect(rules('subscribe', {})).toMatchObject({ subscribeRequiresAuth: false, multisource: false, record: false })
  })

  it('treat null as the default in every optional field', () => {
    const nulls = {
      expires: null,
      allowedOrigins: null,
      allowedIpAddresses: null,
      bindIpsOnUsage: null,
      allowedCountries: null,
      deniedCountries: null,
      endSessionsOnUpdate: null,
      endAtExpiry: null,
    }
    const publish = {
      subscribeRequiresAuth: null,
      record: null,
      enableThumbnails: null,
      multisource: null,
      enableUTCInsertion: null,
      transcode: null,
      displaySrtPassphrase: null,
      priority: null,
      hlsRenditions: null,
    }
    expect(readTokenCreate('publish', plainBody({ ...nulls, ...publish }))).toEqual(
      readTokenCreate('publish', plainBody()),
    )
    expect(readTokenCreate('subscribe', plainBody({ ...nulls, tracking: null }))).toEqual(
      readTokenCreate('subscribe', plainBody()),
    )
    expect(rules('publish', { streams: [{ streamName: 'a', isRegex: null }] }).streams).toEqual([
      { streamName: 'a', isRegex: false },
    ])
    expect(rules('subscribe', { tracking: { trackingId: null } }).trackingId).toBeNull()
  })
})

describe('accepted values', () => {
  test.each([
    ['label', 'x', 'label', 'x'],
    ['label', '🎥'.repeat(128), 'label', '🎥'.repeat(128)],
    ['bindIpsOnUsage', 0, 'bindIpsOnUsage', 0],
    ['bindIpsOnUsage', 2_147_483_647, 'bindIpsOnUsage', 2_147_483_647],
    ['priority', 0, 'priority', 0],
    ['priority', -2_147_483_648, 'priority', -2_147_483_648],
    ['record', true, 'record', true],
    ['multisource', false, 'multisource', false],
    ['enableUTCInsertion', true, 'enableUTCInsertion', true],
    ['transcode', true, 'transcode', true],
    ['displaySrtPassphrase', true, 'displaySrtPassphrase', true],
    ['endSessionsOnUpdate', false, 'endSessionsOnUpdate', false],
    ['endAtExpiry', true, 'endAtExpiry', true],
    ['allowedOrigins', ['Example.COM', 'example.com', '*.b.org'], 'allowedOrigins', ['example.com', '*.b.org']],
    ['allowedIpAddresses', ['10.1.2.3/8', '10.0.0.0/8', '1.2.3.4/32'], 'allowedIpAddresses', ['10.0.0.0/8', '1.2.3.4']],
    ['allowedCountries', ['nl', 'BE', 'NL'], 'allowedCountries', ['NL', 'BE']],
    ['deniedCountries', ['us'], 'deniedCountries', ['US']],
  ])('%s: %j', (field, sent, name, expected) => {
    expect(rules('publish', { [field]: sent })).toHaveProperty(name, expected)
  })

  test.each([1, 2_147_483_647])('expires: %d seconds', (expires) => {
    expect(value(readTokenCreate('subscribe', plainBody({ expires }))).expiresSeconds).toBe(expires)
  })

  it('keeps the tracking id of a subscribe token', () => {
    expect(rules('subscribe', { tracking: { trackingId: 'customer-1' } }).trackingId).toBe('customer-1')
  })

  it('takes both country lists when one of them is empty', () => {
    expect(rules('publish', { allowedCountries: ['NL'], deniedCountries: [] }).allowedCountries).toEqual(['NL'])
  })
})

describe('refused values, each named by its field', () => {
  test.each([
    ['label', '', 'label'],
    ['label', 'x'.repeat(129), 'label'],
    ['label', null, 'label'],
    ['label', 7, 'label'],
    ['label', 'a\nb', 'label'],
    ['label', 'a\u0000b', 'label'],
    ['label', '\ud800', 'label'],
    ['streams', [], 'streams'],
    ['streams', null, 'streams'],
    ['streams', {}, 'streams'],
    ['streams', ['studio'], 'streams[0]'],
    ['streams', [{}], 'streams[0].streamName'],
    ['streams', [{ streamName: '' }], 'streams[0].streamName'],
    ['streams', [{ streamName: 'x'.repeat(129) }], 'streams[0].streamName'],
    ['streams', [{ streamName: 'a\tb' }], 'streams[0].streamName'],
    ['streams', [{ streamName: 'a', isRegex: 'true' }], 'streams[0].isRegex'],
    ['streams', [{ streamName: 'a', regex: true }], 'streams[0].regex'],
    ['streams', [{ streamName: 'a(', isRegex: true }], 'streams[0].streamName'],
    ['streams', [{ streamName: 'a' }, { streamName: 'a', isRegex: true }], 'streams[1].streamName'],
    ['streams', Array.from({ length: 1001 }, (_, i) => ({ streamName: `s${i}` })), 'streams'],
    ['expires', 0, 'expires'],
    ['expires', 2_147_483_648, 'expires'],
    ['expires', 1.5, 'expires'],
    ['expires', '60', 'expires'],
    ['bindIpsOnUsage', -1, 'bindIpsOnUsage'],
    ['bindIpsOnUsage', 2_147_483_648, 'bindIpsOnUsage'],
    ['priority', 2_147_483_648, 'priority'],
    ['priority', '0', 'priority'],
    ['record', 'true', 'record'],
    ['record', 0, 'record'],
    ['allowedOrigins', 'example.com', 'allowedOrigins'],
    ['allowedOrigins', ['*'], 'allowedOrigins[0]'],
    ['allowedOrigins', ['ok.com', null], 'allowedOrigins[1]'],
    ['allowedOrigins', Array(257).fill('a.com'), 'allowedOrigins'],
    ['allowedIpAddresses', ['10.0.0.1', '10.0.0.*'], 'allowedIpAddresses[1]'],
    ['allowedIpAddresses', ['::1'], 'allowedIpAddresses[0]'],
    ['allowedCountries', ['NL', 'XX'], 'allowedCountries[1]'],
    ['allowedCountries', ['NLD'], 'allowedCountries[0]'],
    ['isActive', false, 'isActive'],
  ])('%s: %j', (field, sent, path) => {
    for (const kind of KINDS) {
      if (kind === 'subscribe' && (field === 'record' || field === 'priority')) continue
      expect(Object.keys(errors(kind, { [field]: sent }))).toEqual([path])
    }
  })

  test.each([
    [{ trackingId: '' }, 'tracking.trackingId'],
    [{ trackingId: 'x'.repeat(129) }, 'tracking.trackingId'],
    [{ trackingId: 'a\u0007' }, 'tracking.trackingId'],
    [{ trackingId: 'a', id: 'b' }, 'tracking.id'],
    ['a', 'tracking'],
  ])('tracking: %j', (tracking, path) => {
    expect(Object.keys(errors('subscribe', { tracking }))).toEqual([path])
  })

  it('label and streams are required', () => {
    expect(error(readTokenCreate('publish', {}))).toEqual({
      label: ['is required: a string of 1 to 128 characters'],
      streams: ['is required: a list of 1 to 1000 entries'],
    })
  })

  test.each([[null], [undefined], ['x'], [[]], [5]])('a body that is not an object: %j', (body) => {
    expect(error(readTokenCreate('publish', body))).toEqual({ body: ['must be a JSON object'] })
  })

  it('both country lists together', () => {
    const both = errors('publish', { allowedCountries: ['NL'], deniedCountries: ['US'] })
    expect(both['deniedCountries']?.[0]).toContain('exclude each other')
  })
})

describe('all at once', () => {
  it('reports wrong types, bad patterns and unknown names together', () => {
    const body = {
      lable: 'Studio',
      streams: [{ streamName: 'a(', isRegex: true }, { streamName: 7 }],
      allowedOrigins: ['*'],
      expires: 'never',
    }
    expect(Object.keys(error(readTokenCreate('publish', body))).sort()).toEqual([
      'allowedOrigins[0]',
      'expires',
      'label',
      'lable',
      'streams[0].streamName',
      'streams[1].streamName',
    ])
  })

  it('stops at 100 messages and counts the rest', () => {
    const streams = Array.from({ length: 250 }, () => ({ streamName: 5 }))
    const told = errors('publish', { streams })
    expect(Object.keys(told)).toHaveLength(101)
    expect(told['more']).toEqual(['and 150 more'])
  })
})

describe('unknown properties', () => {
  test.each([
    ['alowedOrigins', 'did you mean allowedOrigins?'],
    ['allowedorigins', 'did you mean allowedOrigins?'],
    ['allowed_origins', 'did you mean allowedOrigins?'],
    ['lable', 'did you mean label?'],
    ['updateAllowedOrigins', 'send allowedOrigins'],
  ])('%s: %s', (name, hint) => {
    expect(errors('publish', { [name]: [] })[name]?.[0]).toContain(hint)
  })

  it('suggests nothing when nothing is close', () => {
    expect(errors('publish', { colour: 1 })).toEqual({ colour: ['unknown property colour'] })
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('%s is only a name', (name) => {
    const body: unknown = JSON.parse(`{"label":"a","streams":[{"streamName":"a"}],"${name}":{"record":true}}`)
    const told = error(readTokenCreate('publish', body))
    expect(Object.getOwnPropertyNames(told)).toEqual([name])
    expect(Object.getPrototypeOf(told)).toBe(Object.prototype)
  })

  it('shows at most 64 characters of a name, without control characters', () => {
    const told = errors('publish', { [`\u001b[2J${'x'.repeat(5000)}`]: 1 })
    const [[name, messages] = ['', []]] = Object.entries(told)
    expect(name.length).toBeLessThanOrEqual(64)
    expect(`${name}${messages.join('')}`).not.toMatch(/\p{C}|x{65}/u)
  })

  it('handles a megabyte of names, and a name of a megabyte of dots, in bounded work', () => {
    const many = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`property${i}`, 1]))
    expect(errors('publish', many)['more']).toEqual(['and 59900 more'])
    expect(Object.keys(errors('publish', { ['.['.repeat(500_000)]: 1 }))).toHaveLength(1)
  })

  it('names the kind of token that a field belongs to', () => {
    expect(errors('subscribe', { record: true })['record']?.[0]).toContain('only publish tokens have it')
    expect(errors('publish', { tracking: null })['tracking']?.[0]).toContain('only subscribe tokens have it')
  })
})

describe('features that are not built', () => {
  test.each<[name: string, nothing: unknown[], something: unknown[]]>([
    ['clip', [], [true, '', 0, 'false']],
    ['drm', [], [true, 1]],
    ['encoderProfileId', [''], ['p1', 7]],
    ['integrationId', ['None'], ['Maestro', '']],
  ])(
    '%s may request nothing, and is refused by name with the reason when it requests something',
    (name, nothing, something) => {
      const plain = rules('publish', {})
      for (const value of [false, null, ...nothing]) expect(rules('publish', { [name]: value })).toEqual(plain)
      for (const value of something) {
        expect(errors('publish', { [name]: value })).toEqual({
          [name]: [expect.stringMatching(new RegExp(`^${name} is not built: .{10}`))],
        })
      }
    },
  )

  it('takes a cascade to regions that there are, and names them for one to others', () => {
    const create = (geoCascade: unknown) => readTokenCreate('publish', plainBody({ geoCascade }), ['north', 'south'])
    const on = (clusters: unknown) => ({ isEnabled: true, clusters })
    for (const off of [null, {}, { isEnabled: false, clusters: ['phx-1'] }, { isEnabled: null, clusters: null }])
      expect(value(create(off)).rules.geoCascade).toBe(null)
    for (const all of [{ isEnabled: true }, on(null), on(['all'])])
      expect(value(create(all)).rules.geoCascade).toEqual(['all'])
    expect(value(create(on(['south', 'north', 'south']))).rules.geoCascade).toEqual(['south', 'north'])
    expect(error(create(on([])))).toEqual({ 'geoCascade.clusters': ['Geo cascade Clusters list cannot be empty'] })
    expect(error(create(on(['north', 'phx-1', 'auto'])))).toEqual({
      'geoCascade.clusters[1]': ['must be all or a region of nodes (north, south), not phx-1'],
      'geoCascade.clusters[2]': ['must be all or a region of nodes (north, south), not auto'],
    })
    const nowhere = { geoCascade: on(['phx-1', 'ams-1']) }
    expect(rules('publish', nowhere).geoCascade).toEqual(['phx-1', 'ams-1'])
    for (const name of ['bad/region', 'ams_1', '-ams', 'ams-', 'a b', '..'])
      expect(errors('publish', { geoCascade: on(['phx-1', name]) })).toEqual({
        'geoCascade.clusters[1]': [`must be all or a name of letters, digits and -, not ${name}`],
      })
    for (const wrong of [true, 'all', { isEnabled: 'yes' }, { regions: [] }, on('north'), on([7])])
      expect(Object.keys(error(create(wrong)))[0]).toMatch(/^geoCascade/)
  })

  it('takes publishers in a region that there is, and names all of them for another one', () => {
    const create = (originCluster: unknown) =>
      readTokenCreate('publish', plainBody({ originCluster }), ['north', 'south'])
    for (const cluster of ['', 'auto', 'south']) expect(value(create(cluster)).rules.originCluster).toBe(cluster)
    expect(value(create(null)).rules.originCluster).toBe('')
    for (const cluster of ['fra-1', 'North', 'all', 'Auto '])
      expect(error(create(cluster))).toEqual({
        originCluster: [`must be auto or a region of nodes (north, south), not ${cluster}`],
      })
    expect(Object.keys(error(create(7)))).toEqual(['originCluster'])
    expect(errors('publish', { originCluster: 'north' })['originCluster']?.[0]).toContain(
      'must be auto, as no node has a region',
    )
  })

  it('accepts lowLatencyRtmp either way, as RTMP is never delayed', () => {
    for (const value of [true, false, null])
      expect(rules('publish', { lowLatencyRtmp: value })).toEqual(rules('publish', {}))
    expect(errors('publish', { lowLatencyRtmp: 'yes' })).toEqual({ lowLatencyRtmp: ['must be true or false or null'] })
  })

  it('knows originCluster on subscribe tokens, and none of the others', () => {
    for (const value of [null, '', 'auto'])
      expect(readTokenCreate('subscribe', plainBody({ originCluster: value })).ok).toBe(true)
    expect(errors('subscribe', { originCluster: 'fra-1' })['originCluster']?.[0]).toContain('not built')
    expect(errors('subscribe', { clip: false })).toHaveProperty('clip')
  })

  it('treats a tracking without an id as none', () => {
    expect(rules('subscribe', { tracking: {} }).trackingId).toBeNull()
  })
})
