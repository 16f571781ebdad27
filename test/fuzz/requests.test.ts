import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TimeSpan } from '../../src/base/time.ts'
import { readCheck } from '../../src/core/access/checkBody.ts'
import { readAccessLogQuery, readAccessSummaryQuery } from '../../src/core/access/logQuery.ts'
import { readAudienceQuery } from '../../src/core/audience/query.ts'
import { RECORD_OPERATORS, RECORD_SEARCHES, readRecordQuestion } from '../../src/core/audience/recordQuery.ts'
import { readAuditQuery } from '../../src/core/audit/query.ts'
import { readMeasuredQuery } from '../../src/core/channels/measuredQuery.ts'
import { readOccurrencesQuery } from '../../src/core/channels/schedules/occurrencesQuery.ts'
import { readUpdateScheduler } from '../../src/core/channels/schedules/requests.ts'
import { readSignViewerToken } from '../../src/core/channels/viewerTokenRequest.ts'
import { readCreateChannelWebhook, readUpdateChannelWebhook } from '../../src/core/channels/webhooks/rules.ts'
import type { FieldErrors } from '../../src/core/errors.ts'
import { readPullCreate } from '../../src/core/pulls/rules.ts'
import { readRecordingLink, readRecordingQuery, readSignRecording } from '../../src/core/recordings/rules.ts'
import { readSwitchRecording } from '../../src/core/recordings/switchSchema.ts'
import { readThumbnailRequest } from '../../src/core/recordings/thumbnailRequest.ts'
import { readReprioritize, readStreamStop } from '../../src/core/sessions/sessionQuery.ts'
import { readHistoryQuery } from '../../src/core/streams/history.ts'
import { MonitoringQuery, readMonitoringQuery } from '../../src/core/streams/monitoringQuery.ts'
import { readMinutesQuery } from '../../src/core/streams/seriesQuery.ts'
import { readEndedQuery, readOnAirQuery } from '../../src/core/streams/streamQuery.ts'
import { readPatternTest } from '../../src/core/tokens/patternTest.ts'
import { readSign } from '../../src/core/tokens/sign.ts'
import { readUsageQuery } from '../../src/core/usage/query.ts'
import { readTrackedQuery } from '../../src/core/usage/trackedQuery.ts'
import { readAddPasskey, readPasskeySignIn, readStartPasskey } from '../../src/core/users/passkeyRequests.ts'
import { readChangePassword, readCreateUser, readSetup, readSignIn } from '../../src/core/users/requests.ts'
import { readCreateSecret } from '../../src/core/users/secretRequests.ts'
import { readDeliveryQuery, readRedeliverMany } from '../../src/core/webhooks/deliveryQuery.ts'
import { readWebhookListQuery, readWebhookTest } from '../../src/core/webhooks/requests.ts'
import { readWebhookCreate, readWebhookUpdate } from '../../src/core/webhooks/rules.ts'
import { checkTarget } from '../../src/core/webhooks/target.ts'
import { cases } from '../support/randomCases.ts'

type Read = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: FieldErrors }
type Query = Record<string, unknown>

const NOW = Date.parse('2026-10-25T00:30:00Z')
const checkUrl = (url: string) => checkTarget(url, false)
const policy = { allowPrivate: false, hasAddress: () => false, isOurs: () => false }

/** Each query of a list or a report, with the names of its parameters. */
const QUERIES: Readonly<Record<string, readonly [names: string, read: (query: Query) => Read]>> = {
  'access log': ['tokenId streamName address code allowed from until limit cursor', readAccessLogQuery],
  'access summary': ['from until source limit', (query) => readAccessSummaryQuery(query, NOW)],
  audience: [
    'startDate stopDate timeZone resolution by streamName protocol country site device browser',
    readAudienceQuery,
  ],
  audit: ['actor action from until limit cursor', readAuditQuery],
  deliveries: ['state type from limit', readDeliveryQuery],
  'ended streams': ['search limit cursor', readEndedQuery],
  history: ['history from until', (query) => readHistoryQuery(query, NOW)],
  'measured channels': ['start end', (query) => readMeasuredQuery(query, NOW)],
  minutes: ['metric range', readMinutesQuery],
  monitoring: [
    Object.keys(MonitoringQuery.properties).join(' ') + ' cluster cluster[]',
    (query) => readMonitoringQuery(MonitoringQuery, query),
  ],
  occurrences: ['from until', (query) => readOccurrencesQuery(query, NOW)],
  'recording link': ['seconds', readRecordingLink],
  recordings: ['tokenId streamName search limit', readRecordingQuery],
  'streams on air': ['streamName limit', readOnAirQuery],
  'tracking ids': ['startDate stopDate timeZone prefix limit', readTrackedQuery],
  usage: [
    'startDate stopDate timeZone resolution streamNames mediaOnly',
    (query) => readUsageQuery(query, { names: 'streamNames', resolutions: ['Hour', 'Day', 'Month'] }),
  ],
  'viewer records': [
    'startedAfter startedBefore completedAfter completedBefore search streamName trackingId after limit',
    (query) => readRecordQuestion('query', query),
  ],
  webhooks: ['startingId itemCount isDescending', readWebhookListQuery],
}

const DATES = ['2026-10-01', '2026-11-01', '2026-02-30', '2024-02-29', '2026-03-29', '1969-12-31', '0000-01-01']
const TIMES = ['2026-10-25T00:00:00Z', '2026-10-25T00:30:00.000Z', '2026-10-01T12:00:00+05:45', '9999-12-31T23:59:59Z']
const ZONES = ['Europe/Vienna', 'Australia/Lord_Howe', 'Asia/Kolkata', 'Pacific/Apia', 'UTC', 'Mars/Base', '+01:00']
const WORDS = [
  'Hour',
  'day',
  'Month',
  'true',
  'FALSE',
  'failed',
  'feeds',
  'viewers,bytesIn',
  'hour',
  'Live',
  'admission',
]
const ODD = ['', ' ', '-1', '0', '1', '100', '101', '1e2', '0x1', '\0', '\ud800', '__proto__', 'a,b', '::1', 'user:3']
const text = fc.oneof(
  fc.constantFrom(...DATES, ...DATES, ...TIMES, ...ZONES, ...WORDS, ...ODD),
  fc.string({ unit: 'binary', maxLength: 300, size: 'max' }),
)
const odd = fc.oneof({ weight: 8, arbitrary: text }, fc.array(text, { maxLength: 3 }), fc.constant(undefined))

/** What is wrong is named, for people, and not without end. */
function expectSentences(errors: FieldErrors): void {
  const told = Object.entries(errors)
  expect(told.length).toBeGreaterThan(0)
  expect(told.length).toBeLessThanOrEqual(101)
  for (const [path, messages] of told) {
    expect(path.length).toBeLessThanOrEqual(80)
    expect(messages.every((message) => message.length <= 600)).toBe(true)
    expect(`${path}${messages.join('')}`).not.toMatch(/\p{Cc}|\p{Cs}/u)
  }
}

describe('any query', () => {
  it.each(Object.entries(QUERIES))('of %s gives a bounded question or sentences', (_, [names, read]) => {
    const seen = { taken: 0, refused: 0 }
    const name = fc.constantFrom(...names.split(' '), 'toString', '__proto__')
    fc.assert(
      fc.property(fc.dictionary(name, odd, { maxKeys: 4 }), (query) => {
        const done = read(query)
        seen[done.ok ? 'taken' : 'refused'] += 1
        if (!done.ok) return expectSentences(done.error)
        // A list may ask for a time that never was, and is empty.
        const { fromMs = 0, untilMs = fromMs } = names.includes('cursor')
          ? {}
          : ((done.value as Partial<TimeSpan> | null) ?? {})
        expect(fromMs).toBeLessThanOrEqual(untilMs)
      }),
      cases(1000),
    )
    // Reports need two dates: few of these have them.
    expect(seen.refused).toBeGreaterThan(0)
    if (!names.startsWith('startDate')) expect(seen.taken).toBeGreaterThan(0)
  })

  it.each(['audience', 'tracking ids', 'usage'])('of %s with its dates is taken up to its bound', (of) => {
    const [, read] = QUERIES[of] ?? expect.fail()
    const day = fc.integer({ min: 0, max: 20_000 })
    const zone = fc.constantFrom(...ZONES.slice(0, 5))
    const dateOf = (days: number): string => new Date(Date.UTC(2000, 0, 1 + days)).toISOString().slice(0, 10)
    fc.assert(
      fc.property(day, fc.integer({ min: -3, max: 410 }), zone, (from, days, timeZone) => {
        const query = { startDate: dateOf(from), stopDate: dateOf(from + days), timeZone, resolution: 'Day' }
        const done = read({ ...query, streamNames: 'a' })
        // A zone that skipped a day has two days that begin together.
        if (timeZone !== 'Pacific/Apia') expect(done.ok).toBe(days > 0 && days <= 400)
      }),
      cases(1000),
    )
  })
})

/** Each body that no other test of random input sends. */
const BODIES: Readonly<Record<string, (body: unknown) => Read>> = {
  'access check': readCheck,
  'channel webhook': (body) => readCreateChannelWebhook(body, checkUrl),
  'channel webhook update': (body) => readUpdateChannelWebhook(body, checkUrl),
  'passkey to add': readAddPasskey,
  'passkey to sign in': readPasskeySignIn,
  'passkey to start': readStartPasskey,
  password: readChangePassword,
  pattern: readPatternTest,
  pull: (body) => readPullCreate(body, policy),
  'recording link': readSignRecording,
  recording: readSwitchRecording,
  redeliveries: readRedeliverMany,
  reprioritize: readReprioritize,
  scheduler: readUpdateScheduler,
  secret: readCreateSecret,
  'set up': readSetup,
  'sign in': readSignIn,
  'signed token': readSign,
  'stream to stop': readStreamStop,
  thumbnail: readThumbnailRequest,
  user: readCreateUser,
  'viewer records, v1': (body) => readRecordQuestion('v1', body),
  'viewer records, v2': (body) => readRecordQuestion('v2', body),
  'viewer token': readSignViewerToken,
  webhook: (body) => readWebhookCreate(body, checkUrl),
  'webhook test': readWebhookTest,
  'webhook update': (body) => readWebhookUpdate(body, checkUrl),
}

const FIELDS =
  'action accountId streamName streamNames streamId token tokenId ip origin country protocol at name url events active filter ' +
  'isFeedHooks reEnable refreshSecret email password oldPassword newPassword code role label enabled when record states type from ' +
  'updatePriority startDate startTime endDate endTime recurrence timeZone channels expiresInSeconds tracking trackingId jti ' +
  'allowedOrigins allowedIpAddresses maxViewers pattern search startTime startOperator startedAfter startedAfterOperator ' +
  'response credential __proto__ constructor toString'
const VALUES = [
  'https://a.example/',
  'rtsp://a.example/x',
  'publish',
  'whip',
  '10:00',
  'RRULE:FREQ=DAILY',
  'acc/show',
  '.*',
]
const leaf = fc.oneof(
  text,
  fc.constantFrom(...VALUES, ...RECORD_OPERATORS, ...RECORD_SEARCHES, '', null, true, false, 0, -1, 1, 2 ** 53, 0.5),
  fc.double(),
)
const field = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...FIELDS.split(' ')) }, fc.string({ unit: 'binary' }))
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie('json'), { maxLength: 4 }),
    // As a parser of JSON makes them: `__proto__` is a property.
    fc.array(fc.tuple(field, tie('json')), { maxLength: 8 }).map((entries) => Object.fromEntries(entries) as unknown),
  ),
}))

describe.each(Object.entries(BODIES))('any body of %s', (_, read) => {
  it('gives a value, or sentences by field', () => {
    fc.assert(
      fc.property(json, (body) => {
        const done = read(body)
        if (!done.ok) expectSentences(done.error)
      }),
      cases(500),
    )
  })

  it('is refused for what it should not have, by name, and for a thousand of those in a hundred sentences', () => {
    const refused = (names: readonly string[]): FieldErrors => {
      const done = read(Object.fromEntries(names.map((name) => [name, 1])))
      return done.ok ? expect.fail('it is taken') : done.error
    }
    for (const name of ['__proto__', 'constructor', 'x']) expect(Object.keys(refused([name]))).toContain(name)
    const many = refused(Array.from({ length: 1000 }, (_name, at) => `x${at}`))
    expectSentences(many)
  })
})
