import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseAddress } from '../../src/core/access/address.ts'
import { readCreateChannel, readUpdateChannel } from '../../src/core/channels/channel.ts'
import { readCreateDistribution, readCreateKey, readUpdateDistribution } from '../../src/core/channels/distribution.ts'
import { readCreateEngine, readUpdateEngine } from '../../src/core/channels/engine.ts'
import { readCreateIngest, readUpdateIngest } from '../../src/core/channels/ingest.ts'
import { defaultLadder, readCreateLadder, readUpdateLadder } from '../../src/core/channels/ladder.ts'
import { readSeriesQuery, SLOTS_MAX, toSeries } from '../../src/core/channels/analytics.ts'
import { readChannelQuery } from '../../src/core/channels/listQuery.ts'
import { isInNetwork, parseNetwork } from '../../src/core/channels/network.ts'
import { parseDomain, refererHosts } from '../../src/core/channels/referer.ts'
import { INGEST_TYPES, isPush } from '../../src/core/channels/types.ts'
import { refuseSource } from '../../src/core/channels/source.ts'
import { CHANNEL_SETTINGS } from '../support/channelSettings.ts'
import { atOnce } from '../support/atOnce.ts'
import { cases } from '../support/randomCases.ts'

const settings = { ...CHANNEL_SETTINGS, rtmpUrl: 'rtmp://localhost/live', srtUrl: 'srt://localhost:10000' }
const open = readCreateDistribution({ name: 'x' }, settings)
if (!open.ok) throw new Error('a name is enough')
const { rules } = open.value

/** Every reader of a body. */
const READERS: Record<string, (body: unknown) => { ok: boolean }> = {
  'create channel': (body) => readCreateChannel(body, settings),
  'update channel': readUpdateChannel,
  'create ingest': (body) => readCreateIngest(body, settings),
  'update ingest': (body) =>
    readUpdateIngest(body, { type: 'srt-push', region: 'local', url: null, shownUrl: undefined, audio: [] }, settings),
  'create engine': (body) => readCreateEngine(body, settings),
  'update engine': (body) => readUpdateEngine(body, settings),
  'create distribution': (body) => readCreateDistribution(body, settings),
  'update distribution': (body) => readUpdateDistribution(body, rules),
  'create key': (body) => readCreateKey(body, settings),
  'create ladder': readCreateLadder,
  'update ladder': (body) => readUpdateLadder(body, defaultLadder('a')),
}

const FIELDS = [
  'name',
  'externalIds',
  'externalId',
  'timeout',
  'ads',
  'ingests',
  'engines',
  'distributions',
  'type',
  'url',
  'region',
  'tracks',
  'ingestId',
  'quality',
  'abrLadderId',
  'priority',
  'outputs',
  'hls',
  'hesp',
  'drm',
  'enabled',
  'latencies',
  'security',
  'geoBlocking',
  'ipBlocking',
  'refererBlocking',
  'countries',
  'cidrs',
  'allowedDomains',
  'keys',
  'key',
  'endpoints',
  'engineIds',
  'video',
  'audio',
  'width',
  'height',
  'bitrate',
  'frameRate',
  'value',
  'scale',
  '__proto__',
  'constructor',
  'toString',
]

const leaf = fc.oneof(
  fc.constantFrom('rtmp-push', 'srt-pull', 'srt://a.example.com:1', 'local', 'allow', 'NL', '::/0', 'a', ''),
  fc.string({ unit: 'binary' }),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
)

/** Bodies with our property names and random values. */
const { body } = fc.letrec((tie) => ({
  body: fc.dictionary(fc.constantFrom(...FIELDS), fc.oneof({ maxDepth: 5 }, leaf, tie('body'), tie('list')), {
    maxKeys: 8,
  }),
  list: fc.array(fc.oneof({ maxDepth: 5 }, leaf, tie('body')), { maxLength: 3 }),
}))

describe('any body', () => {
  it.each(Object.keys(READERS))('%s returns a value or sentences', (name) => {
    fc.assert(
      fc.property(fc.oneof(body, fc.anything()), (value) => {
        expect(typeof READERS[name]?.(value).ok).toBe('boolean')
      }),
      cases(300),
    )
  })

  it('a query for a report is parsed or refused, and a parsed one is bounded', () => {
    const value = fc.oneof(
      fc.constantFrom('2026-01-01', '2026-01-02T00:00:00Z', '9999-12-31', '0000-01-01', 'day', 'month', '15min', '60'),
      fc.string({ unit: 'binary' }),
      fc.array(fc.string()),
    )
    const names = ['start', 'end', 'resolution', 'utcOffset', 'groupBy', 'engineIds', '__proto__', 'x']
    const right = fc.record({
      start: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
      end: fc.constantFrom('2026-01-02T00:00:00Z', '2027-01-01T00:00:00Z'),
      resolution: fc.constantFrom('15min', 'hour', 'day', 'month'),
    })
    const query = fc.oneof(fc.dictionary(fc.constantFrom(...names), value), right)
    fc.assert(
      fc.property(query, (asked) => {
        const read = readSeriesQuery(asked, { groups: ['channel', 'engine'], ids: 'engineIds' })
        if (!read.ok) expect(read.error.code).toBe('validation_failed')
        else expect(atOnce(toSeries(read.value, [])).length).toBeLessThanOrEqual(SLOTS_MAX + 1)
      }),
      cases(2000),
    )
  })

  it('a query of the list of channels is parsed or refused', () => {
    const value = fc.oneof(fc.string({ unit: 'binary' }), fc.array(fc.string()))
    const names = fc.oneof(
      fc.constantFrom('name', 'search', 'status', 'id', 'limit', 'cursor', 'toString'),
      fc.string(),
    )
    fc.assert(
      fc.property(fc.dictionary(names, value), (query) => {
        expect(typeof readChannelQuery(query).ok).toBe('boolean')
      }),
    )
  })
})

const PULLS = INGEST_TYPES.filter((type) => !isPush(type))

describe('a source', () => {
  it('is never accepted with an address that is not public, in any spelling', () => {
    const hosts = fc.oneof(
      fc.ipV4(),
      fc.ipV4Extended(),
      fc.ipV6().map((text) => `[${text}]`),
      fc.constantFrom('localhost', 'localhost.', 'a.local', 'METADATA.google.internal', '[::ffff:7f00:1]', '①②⑦.0.0.1'),
    )
    fc.assert(
      fc.property(hosts, fc.constantFrom('rtmp', 'rtmps'), (host, scheme) => {
        const url = `${scheme}://${host}/live/a`
        if (refuseSource('rtmp-pull', url, settings.sources) !== null) return
        // An accepted host is an address in its usual form, outside of the private ranges.
        expect(host).toMatch(/^(\d+\.){3}\d+$|^\[[23]/)
        expect(host).not.toMatch(/^(0|10|127|192\.168|169\.254)\./)
      }),
      cases(2000),
    )
  })

  it('may be any text, and the result is a sentence or null', () => {
    fc.assert(
      fc.property(fc.constantFrom(...PULLS), fc.oneof(fc.webUrl(), fc.string({ unit: 'binary' })), (type, text) => {
        expect(
          typeof (refuseSource(type, text, { ...settings.sources, allowPrivate: true, hasAddress: () => true }) ?? ''),
        ).toBe('string')
      }),
    )
  })
})

describe('a network', () => {
  const address = fc.oneof(fc.ipV4(), fc.ipV6())

  it('parses from its own text, and contains the address that it was made of', () => {
    fc.assert(
      fc.property(address, fc.nat(128), (text, bits) => {
        const network = parseNetwork(`${text}/${bits}`)
        if (!network.ok) return
        const peer = parseAddress(text)
        expect(peer && isInNetwork(network.value, peer)).toBe(true)
        const again = parseNetwork(network.value.text)
        expect(again).toEqual({ ok: true, value: network.value })
      }),
      cases(500),
    )
  })

  it('is parsed from no other text', () => {
    fc.assert(fc.property(fc.string(), (text) => void parseNetwork(text)))
    for (const text of ['', '/', '1.2.3.4/', '1.2.3.4/8/8', '1.2.3.4/08', 'fe80::1%eth0', '::1/129', '1.2.3/8']) {
      expect(parseNetwork(text).ok).toBe(false)
    }
  })

  it.each([
    ['192.0.2.0/24', '192.0.2.255', true],
    ['192.0.2.0/24', '192.0.3.0', false],
    ['192.0.2.0/24', '::ffff:192.0.2.1', true],
    ['0.0.0.0/0', '::1', false],
    ['::/0', '192.0.2.1', false],
    ['2001:db8::/33', '2001:db8:7fff::', true],
    ['2001:db8::/33', '2001:db8:8000::', false],
    ['2001:db8::1', '2001:db8:0:0::1', true],
  ])('%s contains %s: %s', (network, address, isIn) => {
    const parsed = parseNetwork(network)
    const peer = parseAddress(address)
    expect(parsed.ok && peer !== null && isInNetwork(parsed.value, peer)).toBe(isIn)
  })
})

describe('a referer', () => {
  it('is compared by host and port in the form of the allowed domain', () => {
    const same = (entry: string, header: string) => {
      const domain = parseDomain(entry)
      return domain.ok && refererHosts(header).includes(domain.value)
    }
    expect(same('Example.com', 'https://example.com/watch?v=1')).toBe(true)
    expect(same('example.com:8443', 'https://example.com:8443/')).toBe(true)
    expect(same('example.com', 'https://example.com:8443/')).toBe(false)
    expect(same('example.com', 'https://www.example.com/')).toBe(false)
    expect(same('localhost:3000', 'http://localhost:3000/')).toBe(true)
    // A browser leaves out the usual port of its scheme.
    expect(same('example.com:443', 'https://example.com/')).toBe(true)
    expect(same('example.com:443', 'http://example.com/')).toBe(false)
    expect(same('example.com:80', 'http://example.com/')).toBe(true)
    expect(same('bücher.example', 'https://xn--bcher-kva.example/')).toBe(true)
    for (const header of ['', 'example.com', 'about:blank', 'data:,x']) expect(same('example.com', header)).toBe(false)
  })

  it('and an allowed domain may be any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        parseDomain(text)
        refererHosts(text)
      }),
    )
  })
})
