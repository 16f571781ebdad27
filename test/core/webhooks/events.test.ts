import { readFileSync } from 'node:fs'
import { Check } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { definitionOf, EVENTS, renderPayload, subjectOf, type WebhookEvent } from '../../../src/core/webhooks/events.ts'
import { eventsMarkdown } from '../../../src/core/webhooks/eventsTable.ts'
import { exampleEvent, TEST_TYPES } from '../../../src/core/webhooks/examples.ts'
import { HOOK_TYPES } from '../../../src/core/webhooks/kinds.ts'

const ABOUT = { accountId: 'a1b2c3', nowMs: 1_750_000_000_000 }
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()

const FEED: WebhookEvent = {
  type: 'feeds',
  event: 'ended',
  data: {
    ended: 2,
    started: 1,
    active: false,
    tokenId: 7,
    streamId: 'a1b2c3/caf\u00e9',
    name: 'caf\u00e9',
    accountId: 'a1b2c3',
    feedId: '9f3f3a4e-7a53-4f4e-9f3c-0a0b0c0d0e0f',
  },
}

describe('a payload', () => {
  test('has exactly these bytes, in the order of the table and in UTF-8', () => {
    expect(text(renderPayload(FEED, 1_750_000_000_123))).toBe(
      [
        '{"type":"feeds","event":"ended","timestamp":1750000000123,',
        '"data":{"feedId":"9f3f3a4e-7a53-4f4e-9f3c-0a0b0c0d0e0f","accountId":"a1b2c3","name":"caf\u00e9",',
        '"streamId":"a1b2c3/caf\u00e9","tokenId":7,"active":false,"started":1,"ended":2}}',
      ].join(''),
    )
  })

  test('leaves out unset and unknown fields', () => {
    const data = { ...FEED.data, sourceId: undefined, secret: 'x' }
    expect(text(renderPayload({ ...FEED, data }, 1))).toBe(text(renderPayload(FEED, 1)))
    expect(text(renderPayload({ ...FEED, data: { ...data, sourceId: 'cam2' } }, 1))).toContain(
      '"sourceId":"cam2","tokenId"',
    )
  })

  test('of an unknown event throws', () => {
    for (const [type, event] of [
      ['feeds', 'paused'],
      ['thumbnail', 'started'],
      ['constructor', 'name'],
      ['feeds', 'constructor'],
    ] as const) {
      expect(definitionOf(type, event)).toBeUndefined()
      expect(() => renderPayload({ type, event, data: {} }, 0)).toThrow('there is no event')
    }
  })
})

describe('the table', () => {
  test('names exactly the types and events of the API', () => {
    const names = Object.fromEntries(Object.entries(EVENTS).map(([type, events]) => [type, Object.keys(events)]))
    expect(names).toEqual({
      feeds: ['started', 'ended', 'health'],
      recording: ['started', 'completed', 'error', 'deleted'],
      transcoder: ['started', 'stopped', 'error'],
      restream: ['started', 'ended', 'error'],
      viewerConnection: ['ViewerAttempt', 'FirstViewerConnection', 'NoActiveViewers'],
    })
  })

  test('matches docs/reference/events.md', () => {
    const page = readFileSync(new URL('../../../docs/reference/events.md', import.meta.url), 'utf8')
    const [, shown] = page.match(/<!-- events: generated -->\n\n([\s\S]*?)\n<!-- events: end -->/) ?? []
    expect(shown).toBe(eventsMarkdown())
  })
})

describe('a test event', () => {
  test.each(TEST_TYPES.filter((type) => type !== 'Thumbnail'))('of type %s has the form of a real event', (type) => {
    const made = exampleEvent(type, ABOUT)
    if (made.kind !== 'event') throw new Error('expected an event')
    const { properties, required } = definitionOf(made.event.type, made.event.event)!.data
    for (const name of required ?? []) expect(made.event.data).toHaveProperty(name)
    for (const [name, value] of Object.entries(made.event.data)) expect(Check(properties[name]!, value)).toBe(true)
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(made.event.data)))
    expect(JSON.parse(text(renderPayload(made.event, 5)))).toEqual({ ...made.event, timestamp: 5 })
  })

  test('carries the requested name in the field that filters match', () => {
    const about = { ...ABOUT, streamName: 'match-7', transcoderName: 'hd' }
    const subjects = TEST_TYPES.map((type) => {
      const made = exampleEvent(type, about)
      return made.kind === 'event' ? subjectOf(made.event) : made.subject
    })
    expect(subjects).toEqual(['match-7', 'match-7', 'hd', 'match-7', 'match-7', 'match-7', 'match-7', 'match-7'])
  })

  test('of type Thumbnail is a JPEG', () => {
    const made = exampleEvent('Thumbnail', ABOUT)
    if (made.kind !== 'thumbnail') throw new Error('expected an image')
    expect(made).toMatchObject({ streamId: 'a1b2c3/example', subject: 'example' })
    expect([...made.image.subarray(0, 3)]).toEqual([0xff, 0xd8, 0xff])
    expect([...made.image.subarray(-2)]).toEqual([0xff, 0xd9])
  })
})

test('the types of events are those of the table, and thumbnails, which have no payload', () => {
  expect([...HOOK_TYPES].sort()).toEqual([...Object.keys(EVENTS), 'thumbnail'].sort())
})
