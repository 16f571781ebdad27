import { expect, test } from 'vitest'
import { err, ok } from '../../../../src/base/result.ts'
import {
  readChannelWebhookTest,
  readCreateChannelWebhook,
  readUpdateChannelWebhook,
  toChannelWebhookRecord,
} from '../../../../src/core/channels/webhooks/rules.ts'

const NOW = 1_750_000_000_000
const checkUrl = (text: string) => (text.startsWith('https:') ? ok(new URL(text)) : err('must begin with https'))
const BODY = { name: 'All', url: 'https://hooks.example.com/key', events: ['*'] }
const RULES = { ...BODY, description: null, active: false }

test('a new webhook is inactive and without a description, unless its body says otherwise', () => {
  const read = (body: object) => readCreateChannelWebhook({ ...BODY, ...body }, checkUrl)
  expect(read({})).toEqual(ok(RULES))
  expect(read({ active: true, description: 'For us' })).toEqual(ok({ ...RULES, active: true, description: 'For us' }))
  expect(read({ events: ['channel.created', 'channel.deleted', 'channel.created'] })).toMatchObject({
    value: { events: ['channel.created', 'channel.deleted'] },
  })
  expect(read({ events: ['channel.created', '*'] })).toMatchObject({ value: { events: ['*'] } })
})

test('every field that is wrong is named', () => {
  const read = readCreateChannelWebhook(
    { name: 'a\nb', url: 'http://a.example/', events: ['channel.nope'], description: 'a\0', active: 1 },
    checkUrl,
  )
  expect(read.ok ? [] : Object.keys(read.error).toSorted()).toEqual([
    'active',
    'description',
    'events[0]',
    'name',
    'url',
  ])
})

test('an update changes what it names: null removes a description, and false is a value', () => {
  const read = (body: object) => readUpdateChannelWebhook(body, checkUrl)
  expect(read({})).toStrictEqual(ok({}))
  expect(read({ description: null, active: false })).toEqual(ok({ description: null, active: false }))
  expect(read({ url: 'http://a.example/' })).toEqual(err({ url: ['must begin with https'] }))
  const all = { name: 'Some', url: 'https://a.example/', events: ['webhook.created'], description: 'x', active: true }
  expect(read(all)).toEqual(ok(all))
})

test('a test may name an event, and needs no body', () => {
  expect([undefined, {}, { type: 'engine.error' }].map((body) => readChannelWebhookTest(body))).toStrictEqual([
    ok({}),
    ok({}),
    ok({ type: 'engine.error' }),
  ])
  expect(readChannelWebhookTest({ type: 'nope' }).ok).toBe(false)
})

test('a record has a pause while it lasts, and for a reader without secrets no path of the URL', () => {
  const disabled = { untilMs: NOW + 1, reason: [{ code: 'text', values: { text: 'slow' } }] }
  const webhook = { ...RULES, id: 'wh_1', failuresInRow: 0, disabled, createdAtMs: NOW, updatedAtMs: NOW + 5 }
  expect(toChannelWebhookRecord(webhook, NOW)).toEqual({
    ...BODY,
    id: 'wh_1',
    active: false,
    disabled: { until: '2025-06-15T15:06:40.001Z', reason: 'slow', sentences: disabled.reason },
    createdAt: '2025-06-15T15:06:40.000Z',
    updatedAt: '2025-06-15T15:06:40.005Z',
  })
  const over = toChannelWebhookRecord({ ...webhook, description: 'x' }, NOW + 1, false)
  expect(over).toMatchObject({ description: 'x', url: 'https://hooks.example.com/' })
  expect(over).not.toHaveProperty('disabled')
  expect([over.failuresInRow, toChannelWebhookRecord({ ...webhook, failuresInRow: 3 }, NOW).failuresInRow]).toEqual([
    undefined,
    3,
  ])
})
