import { expect, test } from 'vitest'
import { err, ok } from '../../../src/base/result.ts'
import {
  readCreateDistribution,
  readCreateKey,
  readUpdateDistribution,
  toDistributionRecord,
  toKeyRecord,
} from '../../../src/core/channels/distribution.ts'
import type { ChannelSettings, DistributionRules } from '../../../src/core/channels/types.ts'
import { CHANNEL_SETTINGS } from '../../support/channelSettings.ts'

const settings: ChannelSettings = {
  ...CHANNEL_SETTINGS,
  refuseKey: (key) => (key === 'weak' ? 'is too short' : null),
}
const made = (body: object = {}) => {
  const read = readCreateDistribution({ name: 'Web', ...body }, settings)
  if (!read.ok) throw new Error(JSON.stringify(read.error))
  return read.value
}
const problemsOf = (body: object): string[] => {
  const read = readCreateDistribution({ name: 'Web', ...body }, settings)
  return read.ok ? [] : Object.keys(read.error)
}
const NEW = made().rules
const CLOSED = {
  geoBlocking: { enabled: true, mode: 'allow', countries: ['NL'] },
  ipBlocking: { enabled: true, mode: 'allow', cidrs: ['192.0.2.0/24'] },
  refererBlocking: { enabled: true, allowedDomains: ['a.example'], allowNativeApps: true },
  rewriteSegmentUrls: true,
} as const satisfies DistributionRules['security']
const SET: DistributionRules = {
  name: 'Web',
  externalId: 'x',
  enabled: false,
  hlsLatencySeconds: 20,
  hls: false,
  llHls: false,
  maxBitrate: 1,
  engineIds: ['en_1'],
  security: CLOSED,
  closedWithoutKey: true,
}
const after = (body: object, before = SET) => readUpdateDistribution(body, before)

test('a new distribution is open, enabled and without bounds', () => {
  expect(NEW).toEqual({
    name: 'Web',
    externalId: null,
    enabled: true,
    hlsLatencySeconds: 10,
    hls: true,
    llHls: true,
    maxBitrate: null,
    engineIds: [],
    security: {
      geoBlocking: { enabled: false, mode: 'deny', countries: [] },
      ipBlocking: { enabled: false, mode: 'deny', cidrs: [] },
      refererBlocking: { enabled: false, allowedDomains: [], allowNativeApps: false },
      rewriteSegmentUrls: false,
    },
    closedWithoutKey: false,
  })
})

test('an update without a field leaves it, and with one changes it alone', () => {
  expect(after({})).toEqual(ok(SET))
  const bodies: [object, Partial<DistributionRules>][] = [
    [{ name: 'TV' }, { name: 'TV' }],
    [{ externalId: 'y' }, { externalId: 'y' }],
    [{ externalId: null }, { externalId: null }],
    [{ enabled: true }, { enabled: true }],
    [{ latencies: { hls: 6 } }, { hlsLatencySeconds: 6 }],
    [{ latencies: null }, { hlsLatencySeconds: 10 }],
    [{ latencies: { hls: null } }, { hlsLatencySeconds: 10 }],
    [{ latencies: {} }, {}],
    [{ outputs: { hls: true } }, { hls: true }],
    [{ outputs: { llHls: true } }, { llHls: true }],
    [{ maxBitrate: 2 }, { maxBitrate: 2 }],
    [{ maxBitrate: null }, { maxBitrate: null }],
    [{ endpoints: { engineIds: ['en_2', 'en_3', 'en_2'] } }, { engineIds: ['en_2', 'en_3'] }],
    [{ endpoints: { engineIds: [] } }, { engineIds: [] }],
    [{ endpoints: {} }, {}],
  ]
  for (const [body, changed] of bodies) expect(after(body)).toEqual(ok({ ...SET, ...changed }))
})

test('a rule of security changes field by field, in canonical form', () => {
  const securityAfter = (security: object) => {
    const read = after({ security })
    return read.ok ? read.value.security : read.error
  }
  const { geoBlocking, ipBlocking, refererBlocking } = CLOSED
  const bodies: [object, object][] = [
    [{ geoBlocking: { enabled: false } }, { geoBlocking: { ...geoBlocking, enabled: false } }],
    [{ geoBlocking: { mode: 'deny' } }, { geoBlocking: { ...geoBlocking, mode: 'deny' } }],
    [{ geoBlocking: { countries: ['de', 'DE'] } }, { geoBlocking: { ...geoBlocking, countries: ['DE'] } }],
    [{ ipBlocking: { enabled: false } }, { ipBlocking: { ...ipBlocking, enabled: false } }],
    [{ ipBlocking: { mode: 'deny' } }, { ipBlocking: { ...ipBlocking, mode: 'deny' } }],
    [
      { ipBlocking: { cidrs: ['198.51.100.7/24', '2001:DB8::1/32', '198.51.100.9'] } },
      { ipBlocking: { ...ipBlocking, cidrs: ['198.51.100.0/24', '2001:db8::/32', '198.51.100.9'] } },
    ],
    [{ refererBlocking: { enabled: false } }, { refererBlocking: { ...refererBlocking, enabled: false } }],
    [
      { refererBlocking: { allowNativeApps: false } },
      { refererBlocking: { ...refererBlocking, allowNativeApps: false } },
    ],
    [
      { refererBlocking: { allowedDomains: ['Bücher.example', 'localhost:080', '[::1]:3000'] } },
      {
        refererBlocking: {
          ...refererBlocking,
          allowedDomains: ['xn--bcher-kva.example', 'localhost:80', '[::1]:3000'],
        },
      },
    ],
    [{ rewriteSegmentUrls: false }, { rewriteSegmentUrls: false }],
  ]
  for (const [security, changed] of bodies) expect(securityAfter(security)).toEqual({ ...CLOSED, ...changed })
})

test('entries of lists that are wrong are named by their index', () => {
  const security = {
    geoBlocking: { countries: ['NL', 'X1'] },
    ipBlocking: {
      cidrs: ['192.0.2.0/33', '::ffff:192.0.2.1', '192.0.2.0/24/1', '192.0.2.1/', 'fe80::1%eth0', '2001:db8::/129'],
    },
    refererBlocking: {
      allowedDomains: ['https://a.example', 'a.example/path', ':80', 'a b', '*.a.example', 'me@a.example'],
    },
  }
  const path = (part: string, count: number, from = 0) =>
    Array.from({ length: count }, (_, at) => `security.${part}[${at + from}]`)
  expect(problemsOf({ security }).toSorted()).toEqual(
    [
      ...path('geoBlocking.countries', 1, 1),
      ...path('ipBlocking.cidrs', 6),
      ...path('refererBlocking.allowedDomains', 6),
    ].toSorted(),
  )
})

test('text and keys are checked where they are', () => {
  const keys = [{ key: 'weak' }, { key: 'strong', name: 'a\nb' }]
  expect(problemsOf({ externalId: 'a\0', security: { keys } }).toSorted()).toEqual([
    'externalId',
    'security.keys[0].key',
    'security.keys[1].name',
  ])
  expect(
    made({
      security: {
        keys: [
          { key: 'strong', name: 'A' },
          { key: 'other', name: null },
        ],
      },
    }).keys,
  ).toEqual([
    { key: 'strong', name: 'A' },
    { key: 'other', name: null },
  ])
  expect(readCreateKey({ key: 'strong' }, settings)).toEqual(ok({ key: 'strong', name: null }))
  expect(readCreateKey({ key: 'weak' }, settings)).toEqual(err({ key: ['is too short'] }))
})

test('the record of a key has its name, if it has one', () => {
  expect(toKeyRecord({ id: 'ke_1', name: 'A' })).toEqual({ id: 'ke_1', name: 'A' })
  expect(toKeyRecord({ id: 'ke_1', name: null })).toStrictEqual({ id: 'ke_1' })
})

test('a record leaves out what is not set, and says whether viewers need a token', () => {
  const ids = { id: 'di_1', accountId: 'a', channelId: 'ch_1', createdAtMs: 0, updatedAtMs: 1000 }
  const about = {
    id: 'di_1',
    channelId: 'ch_1',
    createdAt: '1970-01-01T00:00:00.000Z',
    updatedAt: '1970-01-01T00:00:01.000Z',
  }
  const record = toDistributionRecord({ ...NEW, ...ids }, [])
  expect(record).toEqual({
    ...about,
    name: 'Web',
    enabled: true,
    latencies: { hls: 10 },
    security: { ...NEW.security, tokenRequired: false, keys: [] },
    endpoints: { engineIds: [] },
    outputs: { hesp: false, hls: true, hlsMpegTs: false, llHls: true },
    dvr: { enabled: false },
  })
  const full = toDistributionRecord({ ...SET, ...ids }, [{ id: 'ke_1' }])
  expect(full).toMatchObject({ externalId: 'x', maxBitrate: 1, outputs: { hls: false, llHls: false } })
  const required = (rules: DistributionRules, keys: { id: string }[]) =>
    toDistributionRecord({ ...rules, ...ids }, keys).security.tokenRequired
  expect([required(NEW, [{ id: 'ke_1' }]), required(SET, [])]).toEqual([true, true])
})
