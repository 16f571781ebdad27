import { describe, expect, test } from 'vitest'
import { DELIVERY_STATES } from '../../../src/core/webhooks/deliveryQuery.ts'
import { HOOK_TYPES } from '../../../src/core/webhooks/kinds.ts'
import { readPastRange, sinceOf, sinceOfPages } from '../../../web/dashboard/src/parts/pastRange.ts'
import {
  hasFilter,
  lostStates,
  readDeliveryFilters,
  STATES,
  TYPES,
} from '../../../web/dashboard/src/pages/webhooks/deliveryFilters.ts'
import { headerLines, imageOf, SHOWN_MOST, shownBody } from '../../../web/dashboard/src/pages/webhooks/sentBody.ts'

const query = (text: string) => readDeliveryFilters(new URLSearchParams(text))

describe('the filters of deliveries', () => {
  test('are the states and types of the server', () => {
    expect(STATES.toSorted()).toEqual([...DELIVERY_STATES].toSorted())
    expect(TYPES.toSorted()).toEqual([...HOOK_TYPES].toSorted())
  })

  test('come from the address, and unknown values count as absent', () => {
    expect(query('state=failed&type=feeds&range=day')).toEqual({ state: 'failed', type: 'feeds', range: 'day' })
    expect(query('state=lost&type=no&range=year')).toEqual({ state: undefined, type: undefined, range: 'all' })
    expect(hasFilter(query('delivery=1'))).toBe(false)
    expect(hasFilter(query('range=hour'))).toBe(true)
  })

  test('choose what is sent again: never what arrived, and what may have arrived only when it is asked for', () => {
    expect(lostStates(query(''))).toEqual(['failed', 'skipped'])
    expect(lostStates(query('state=unknown'))).toEqual(['unknown'])
    expect(lostStates(query('state=failed'))).toEqual(['failed'])
    for (const state of ['delivered', 'pending', 'started']) expect(lostStates(query(`state=${state}`))).toEqual([])
  })

  test('count a range back from the minute', () => {
    const nowMs = Date.UTC(2026, 0, 2, 12, 30, 59, 999)
    expect(sinceOf('hour', nowMs)).toBe('2026-01-02T11:30:00.000Z')
    expect(sinceOf('week', nowMs)).toBe('2025-12-26T12:30:00.000Z')
    expect(sinceOf('all', nowMs)).toBe(undefined)
    expect(readPastRange(null, 'day')).toBe('day')
  })

  test('ask for a further page from the same time on, because its cursor is refused with another one', () => {
    const [nowMs, minuteMs] = [Date.UTC(2026, 0, 2, 12), 60_000]
    const since = sinceOfPages()
    const first = since('hour', undefined, nowMs)
    expect(since('hour', 'cursor', nowMs + 5 * minuteMs)).toBe(first)
    expect(since('hour', undefined, nowMs + 5 * minuteMs)).toBe(sinceOf('hour', nowMs + 5 * minuteMs))
    expect(since('hour', 'cursor', nowMs + 9 * minuteMs)).toBe(sinceOf('hour', nowMs + 5 * minuteMs))
  })
})

describe('what was sent', () => {
  test('is shown with line breaks when it is JSON, and as it is otherwise', () => {
    expect(shownBody('{"a":[1]}')).toEqual({ text: '{\n  "a": [\n    1\n  ]\n}', isCut: false })
    expect(shownBody('{"a":')).toEqual({ text: '{"a":', isCut: false })
  })

  test('is cut where it is too long to draw', () => {
    expect(shownBody('x'.repeat(SHOWN_MOST))).toMatchObject({ isCut: false })
    const { text, isCut } = shownBody('x'.repeat(SHOWN_MOST + 1))
    expect([text.length, isCut]).toEqual([SHOWN_MOST, true])
  })

  test('has its type among the headers', () => {
    expect(headerLines({ contentType: 'image/jpeg', headers: { 'x-stream': 'a' } })).toBe(
      'content-type: image/jpeg\nx-stream: a',
    )
  })

  test('is an image only when its type says so', async () => {
    const sent = {
      contentType: 'image/jpeg',
      headers: {},
      encoding: 'base64',
      body: btoa('\xff\xd8'),
      bytes: 2,
    } as const
    const image = imageOf(sent)
    expect(image?.type).toBe('image/jpeg')
    expect([...new Uint8Array((await image?.arrayBuffer()) ?? new ArrayBuffer(0))]).toEqual([0xff, 0xd8])
    expect(imageOf({ ...sent, contentType: 'image/svg+xml' })).toBe(null)
    expect(imageOf({ ...sent, encoding: 'utf8' })).toBe(null)
  })
})
