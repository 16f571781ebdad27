import { describe, expect, it, test } from 'vitest'
import { UpdatePublishToken, UpdateSubscribeToken } from '../../../src/core/tokens/schema.ts'
import { readTokenUpdate } from '../../../src/core/tokens/update.ts'
import { error, value } from './samples.ts'

const set = (body: object) => value(readTokenUpdate('publish', body)).set
const errors = (body: unknown, kind: 'publish' | 'subscribe' = 'publish') => error(readTokenUpdate(kind, body))

const PAIRS = [
  ['allowedOrigins', 'updateAllowedOrigins', ['A.com', 'a.com'], ['a.com']],
  ['allowedIpAddresses', 'updateAllowedIpAddresses', ['10.1.1.1/8'], ['10.0.0.0/8']],
  ['bindIpsOnUsage', 'updateBindIpsOnUsage', 3, 3],
  ['allowedCountries', 'updateAllowedCountries', ['nl'], ['NL']],
  ['deniedCountries', 'updateDeniedCountries', ['us'], ['US']],
] as const

interface Described {
  readonly properties: object
  readonly description?: string
}

describe('two spellings of one field', () => {
  test.each(PAIRS)('%s and %s mean the same, for both kinds', (plain, update, sent, canonical) => {
    for (const kind of ['publish', 'subscribe'] as const) {
      for (const name of [plain, update]) {
        expect(value(readTokenUpdate(kind, { [name]: sent })).set).toEqual({ [plain]: canonical })
      }
    }
  })

  test.each(PAIRS)('%s and %s may be sent together when they agree', (plain, update, sent, canonical) => {
    expect(set({ [plain]: sent, [update]: canonical })).toEqual({ [plain]: canonical })
    expect(set({ [plain]: null, [update]: sent })).toEqual({ [plain]: canonical })
  })

  test.each(PAIRS)('%s and %s that differ are refused, both named', (plain, update, sent) => {
    const other = typeof sent === 'number' ? 0 : []
    const message = errors({ [plain]: sent, [update]: other })[plain]?.[0]
    expect(message).toContain(plain)
    expect(message).toContain(update)
  })

  it('reports a bad value under the spelling that was sent', () => {
    expect(Object.keys(errors({ updateAllowedOrigins: ['*'] }))).toEqual(['updateAllowedOrigins[0]'])
    expect(Object.keys(errors({ updateBindIpsOnUsage: -1 }))).toEqual(['updateBindIpsOnUsage'])
  })
})

describe('an update', () => {
  it('names only the fields that it changes', () => {
    expect(value(readTokenUpdate('publish', { isActive: false, label: null }))).toEqual({
      set: { isActive: false },
      addStreams: [],
      removeStreams: [],
      refreshToken: false,
    })
  })

  it('holds nothing for a field that is not sent, so that the stored value stays', () => {
    expect(set({ isActive: false })).toStrictEqual({ isActive: false })
    expect(set({ allowedOrigins: [] })).toStrictEqual({ allowedOrigins: [] })
  })

  it('carries every field of a publish token', () => {
    const body = {
      label: 'New',
      isActive: true,
      subscribeRequiresAuth: true,
      record: true,
      enableThumbnails: true,
      multisource: false,
      enableUTCInsertion: true,
      displaySrtPassphrase: true,
      hlsRenditions: [{ height: 480, bitrate: 900_000 }],
      hlsCodecs: 'source',
      recordingDays: 30,
      endSessionsOnUpdate: false,
      endAtExpiry: true,
    }
    expect(set(body)).toEqual(body)
  })

  it('clears lists with [] and binding with 0', () => {
    expect(set({ bindIpsOnUsage: 0, updateAllowedIpAddresses: [] })).toEqual({
      bindIpsOnUsage: 0,
      allowedIpAddresses: [],
    })
  })

  it('clears renditions with [], and keeps them with null', () => {
    expect(set({ hlsRenditions: [] })).toEqual({ hlsRenditions: [] })
    expect(set({ isActive: true, hlsRenditions: null })).toEqual({ isActive: true })
  })

  it('sets priority, and clears it with null, which counts as a change', () => {
    expect(set({ priority: 5 })).toEqual({ priority: 5 })
    expect(set({ priority: null })).toEqual({ priority: null })
    expect(set({ recordingDays: null })).toEqual({ recordingDays: null })
    expect(set({ maxViewers: null })).toEqual({ maxViewers: 0 })
  })

  test.each([
    ['publish', UpdatePublishToken],
    ['subscribe', UpdateSubscribeToken],
  ] as const)('the schema of a %s token names the fields that null clears', (kind, schema: Described) => {
    const { properties, description = '' } = schema
    const names = Object.keys(properties)
    const set = (body: object) => value(readTokenUpdate(kind, { label: 'x', ...body })).set
    expect(new Set(Array.from(description.matchAll(/`(\w+)`/g), ([, name]) => name))).toEqual(
      new Set(names.filter((name) => name !== 'label' && name in set({ [name]: null }))),
    )
  })

  it('adds and removes streams, as names or as entries', () => {
    const patch = value(
      readTokenUpdate('subscribe', {
        addTokenStreams: [{ streamName: 'a.*', isRegex: true }],
        removeTokenStreams: ['b', { streamName: 'c' }, { streamName: 'd', isRegex: false }],
        refreshToken: true,
      }),
    )
    expect(patch).toMatchObject({
      addStreams: [{ streamName: 'a.*', isRegex: true }],
      removeStreams: ['b', 'c', 'd'],
      refreshToken: true,
    })
  })

  test.each([{}, { label: null }, { isActive: null, clip: null }])('%j is empty', (body) => {
    expect(errors(body)).toEqual({ token: ['No properties specified to update.'] })
  })

  test.each([
    [{ label: '' }, 'label'],
    [{ label: 'a\r' }, 'label'],
    [{ isActive: 'no' }, 'isActive'],
    [{ refreshToken: 1 }, 'refreshToken'],
    [{ addTokenStreams: [{ streamName: '[', isRegex: true }] }, 'addTokenStreams[0].streamName'],
    [{ addTokenStreams: [{ streamName: 'a' }, { streamName: 'a' }] }, 'addTokenStreams[1].streamName'],
    [{ addTokenStreams: ['a'] }, 'addTokenStreams[0]'],
    [{ removeTokenStreams: ['a', 'a'] }, 'removeTokenStreams[1]'],
    [{ removeTokenStreams: [5] }, 'removeTokenStreams[0]'],
    [{ removeTokenStreams: [{ name: 'a', streamName: 'a' }] }, 'removeTokenStreams[0].name'],
    [{ allowedCountries: ['NL'], deniedCountries: ['US'] }, 'deniedCountries'],
    [{ activ: true }, 'activ'],
    [{ activ: null }, 'activ'],
  ])('%j is refused at %s', (body, path) => {
    expect(Object.keys(errors(body))).toEqual([path])
  })

  test.each([null, [], 'x', 5])('%j is not a body', (body) => {
    expect(errors(body)).toHaveProperty('body')
  })

  it('reports that expires, and tracking of a subscribe token, cannot be changed', () => {
    for (const kind of ['publish', 'subscribe'] as const) {
      expect(errors({ expires: 60 }, kind)['expires']?.[0]).toContain('cannot be changed')
    }
    expect(errors({ tracking: {} }, 'subscribe')['tracking']?.[0]).toContain('cannot be changed')
  })

  it('reports that tracking belongs to subscribe tokens, for a publish token', () => {
    expect(errors({ tracking: {} }, 'publish')['tracking']?.[0]).toContain('only subscribe tokens have it')
  })

  test.each([
    { lowLatencyRtmp: false, updateGeoCascade: null, updateOriginCluster: null },
    { lowLatencyRtmp: false, geoCascade: null, originCluster: null, clip: false, encoderProfileId: '' },
  ])('accepts %j, which requests nothing, and changes nothing', (body) => {
    expect(value(readTokenUpdate('publish', body))).toEqual({
      set: {},
      restream: undefined,
      addStreams: [],
      removeStreams: [],
      refreshToken: false,
    })
  })

  it('sets the regions of media in both spellings, and switches them off', () => {
    for (const name of ['geoCascade', 'updateGeoCascade']) {
      const update = (geoCascade: object) => readTokenUpdate('publish', { [name]: geoCascade }, ['north'])
      expect(value(update({ isEnabled: true, clusters: ['north'] })).set).toEqual({ geoCascade: ['north'] })
      expect(value(update({ isEnabled: false })).set).toEqual({ geoCascade: null })
      expect(Object.keys(error(update({ isEnabled: true, clusters: ['south'] })))).toEqual([`${name}.clusters[0]`])
    }
    const different = { geoCascade: { isEnabled: false }, updateGeoCascade: { isEnabled: true } }
    expect(error(readTokenUpdate('publish', different))).toHaveProperty('geoCascade')
  })

  it('sets the region of publishers in both spellings, to one that there is', () => {
    for (const name of ['originCluster', 'updateOriginCluster']) {
      for (const cluster of ['', 'auto', 'north'])
        expect(value(readTokenUpdate('publish', { [name]: cluster }, ['north'])).set).toEqual({
          originCluster: cluster,
        })
      expect(error(readTokenUpdate('publish', { [name]: 'south' }, ['north']))).toEqual({
        [name]: ['must be auto or a region of nodes (north), not south'],
      })
    }
    expect(errors({ updateOriginCluster: 'north' }, 'subscribe')['updateOriginCluster']?.[0]).toContain(
      'is not built: ',
    )
  })

  it('points from streams to the two fields that change them', () => {
    expect(errors({ streams: [] })['streams']?.[0]).toContain('addTokenStreams')
  })

  it('refuses publish-only fields on a subscribe token, null or not', () => {
    expect(errors({ record: true }, 'subscribe')['record']?.[0]).toContain('only publish tokens')
    expect(errors({ priority: null }, 'subscribe')).toHaveProperty('priority')
  })
})
