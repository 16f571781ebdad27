import { expect, test } from 'vitest'
import { err, ok } from '../../../src/base/result.ts'
import { readCreateChannel, readUpdateChannel, toChannelRecord } from '../../../src/core/channels/channel.ts'
import { validationFailed } from '../../../src/core/channels/errors.ts'
import { readCreateLadder, readUpdateLadder, toLadderRecord } from '../../../src/core/channels/ladder.ts'
import type { Channel } from '../../../src/core/channels/types.ts'
import { CHANNEL_SETTINGS } from '../../support/channelSettings.ts'

test('a new channel stops after an hour without a source, and has no parts', () => {
  const rules = { name: 'Stage', externalIds: [], timeoutSeconds: 3600 }
  expect(readCreateChannel({ name: 'Stage' }, CHANNEL_SETTINGS)).toEqual(ok({ rules, ingests: [], distributions: [] }))
})

test('ids of the caller have two spellings, and an update changes what it names', () => {
  expect(readUpdateChannel({})).toStrictEqual(ok({}))
  expect(readUpdateChannel({ name: 'Hall' })).toEqual(ok({ name: 'Hall' }))
  expect(readUpdateChannel({ externalId: 'a' })).toEqual(ok({ externalIds: ['a'] }))
  expect(readUpdateChannel({ externalId: null })).toEqual(ok({ externalIds: [] }))
  expect(readUpdateChannel({ externalIds: ['a', 'b', 'a'] })).toEqual(ok({ externalIds: ['a', 'b'] }))
  expect(readUpdateChannel({ externalIds: ['a'], externalId: 'a' })).toMatchObject({
    error: { externalId: [expect.any(String)] },
  })
  const paths = (body: object) => {
    const read = readUpdateChannel(body)
    return read.ok ? [] : Object.keys(read.error)
  }
  expect([paths({ externalIds: ['a', 'b\0'] }), paths({ externalId: 'b\0' })]).toEqual([
    ['externalIds[1]'],
    ['externalId'],
  ])
})

test('an edited channel waits a minute at least for its source, or for ever', () => {
  expect([0, 60].map((timeout) => readUpdateChannel({ timeout }))).toEqual([
    ok({ timeoutSeconds: 0 }),
    ok({ timeoutSeconds: 60 }),
  ])
  expect(readUpdateChannel({ timeout: 59 })).toEqual(err({ timeout: ['must be 0 (never) or at least 60 seconds'] }))
})

test('a record leaves out what a channel has not', () => {
  const channel: Channel = {
    id: 'ch_1',
    accountId: 'a',
    name: 'Stage',
    externalIds: [],
    timeoutSeconds: 0,
    status: 'stopped',
    slate: null,
    createdAtMs: 0,
  }
  const createdAt = '1970-01-01T00:00:00.000Z'
  const about = { id: 'ch_1', name: 'Stage', createdAt, status: 'stopped', organizationId: 'a' }
  expect(toChannelRecord(channel)).toEqual({ ...about, timeout: 0, perpetual: true })
  const image = { id: 'sl_1', mediaType: 'image/png', width: 16, height: 16, hasAudio: false, bytes: 9 } as const
  const slate = { ...image, durationMs: null, createdAtMs: 0 }
  const full = toChannelRecord({ ...channel, externalIds: ['x', 'y'], timeoutSeconds: 60, slate })
  expect(full).toMatchObject({ externalIds: ['x', 'y'], externalId: 'x', timeout: 60, perpetual: false })
  const shown = { id: 'sl_1', mediaType: 'image/png', size: 9, width: 16, height: 16, createdAt }
  expect(full.slate).toEqual(shown)
  const clip = toChannelRecord({ ...channel, slate: { ...slate, durationMs: 1500 } })
  expect(clip.slate).toEqual({ ...shown, duration: 1.5, hasAudio: false })
})

const RUNG = { width: 320, height: 180, bitrate: 400_000 }
const problemsOf = (body: object): string[] => {
  const read = readCreateLadder({ name: 'Small', video: [RUNG], ...body })
  return read.ok ? [] : Object.keys(read.error)
}

test('a new ladder has audio, and renditions are named after their height', () => {
  const video = [{ id: '180p', label: '180p', ...RUNG, frameRate: null }]
  const made = { name: 'Small', video, audioKbps: 128, audioOnly: false }
  expect(readCreateLadder({ name: 'Small', video: [RUNG] })).toEqual(ok(made))
  const rate = { value: 120, scale: 1 }
  expect(
    readCreateLadder({ name: 'Small', video: [{ ...RUNG, id: 'a', frameRate: rate }], audio: { bitrate: 96 } }),
  ).toEqual(
    ok({ ...made, audioKbps: 96, video: [{ ...video[0], id: 'a', label: 'a', frameRate: { value: 120, scale: 1 } }] }),
  )
  expect(readUpdateLadder({}, made)).toEqual(ok(made))
  expect(readUpdateLadder({ name: 'None', audio: null }, made)).toEqual(ok({ ...made, name: 'None', audioKbps: null }))
})

test('renditions that cannot be made are refused by name', () => {
  expect(problemsOf({ video: [{ ...RUNG, width: 321, height: 181 }] })).toEqual(['video[0].width', 'video[0].height'])
  expect(problemsOf({ video: [RUNG, RUNG] })).toEqual(['video[1].id'])
  expect(problemsOf({ video: [{ ...RUNG, id: 'a b' }] })).toEqual(['video[0].id'])
  expect(problemsOf({ video: [{ ...RUNG, frameRate: { value: 121, scale: 1 } }] })).toEqual([
    'video[0].frameRate.value',
  ])
  expect(problemsOf({ video: [{ ...RUNG, copy: true }] })).toEqual([])
  const second = { ...RUNG, id: 'b' }
  expect(problemsOf({ video: [RUNG, { ...second, copy: true }] })).toEqual(['video[1].copy'])
  expect(
    problemsOf({
      video: [
        { ...RUNG, copy: true },
        { ...second, frameRate: { value: 25, scale: 1 } },
      ],
    }),
  ).toEqual(['video[1].frameRate'])
  expect([problemsOf({ audioOnly: true }), problemsOf({ audioOnly: true, audio: null })]).toEqual([[], ['audioOnly']])
})

test('the record of a ladder leaves out what it has not', () => {
  const ladder = { id: 'ab_1', accountId: 'a', name: 'Small', audioOnly: false, createdAtMs: 0, updatedAtMs: 0 }
  const rung = { id: '180p', label: '180p', ...RUNG }
  const record = toLadderRecord({ ...ladder, audioKbps: null, video: [{ ...rung, frameRate: null }] })
  expect(record).not.toHaveProperty('audio')
  expect(record.video).toEqual([{ ...rung, codec: 'h264' }])
  const frameRate = { value: 25, scale: 1 }
  const full = toLadderRecord({ ...ladder, audioKbps: 96, video: [{ ...rung, frameRate }] })
  expect(full).toMatchObject({ audio: { bitrate: 96 }, video: [{ frameRate }] })
})

test('a refusal of a body begins with its first field, and says how many follow', () => {
  expect(validationFailed({ a: ['is odd'] }).message).toBe('a: is odd')
  expect(validationFailed({ a: ['is odd', 'is long'], b: ['is late'] })).toEqual({
    code: 'validation_failed',
    message: 'a: is odd (and 2 more)',
    details: [
      { path: 'a', message: 'is odd' },
      { path: 'a', message: 'is long' },
      { path: 'b', message: 'is late' },
    ],
  })
})
