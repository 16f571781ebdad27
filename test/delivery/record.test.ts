import { describe, expect, test } from 'vitest'
import { coded } from '../../src/core/notices.ts'
import { deliveryEndOf, type Ended, interrupted, isUnsent, recordEnds, type Unsent } from '../../src/delivery/record.ts'
import type { EgressOutcome } from '../../src/net/outcome.ts'
import type { StoredWebhook } from '../../src/store/store.ts'
import { clock, outgoing, random } from './support/outgoing.ts'

const NODE = 'node 1'
const T = clock.now()
const STARTED = { id: 'd', webhookId: 3, url: 'https://hooks.example.com/in/S3CRET%20KEY?token=abc&x=1' }

const answered = (status: number): EgressOutcome => ({
  kind: 'answered',
  status,
  durationMs: 7,
  answer: 'thanks',
  truncated: false,
})
const failedAt = (
  stage: 'connect' | 'tls' | 'send' | 'answer',
  code: 'reset' | 'timeout' | 'aborted',
): EgressOutcome => ({
  kind: 'failed',
  stage,
  code,
  sentence: coded('text', { text: 'no' }),
  durationMs: 8,
  status: null,
})

describe('how an exchange reads in the log', () => {
  test.each([
    ['accepted', answered(200), 'delivered', true],
    ['refused by the receiver', answered(500), 'failed', true],
    ['never connected', failedAt('connect', 'reset'), 'failed', true],
    ['broken while it was sent', failedAt('send', 'reset'), 'failed', true],
    ['stopped by us while it was sent', failedAt('send', 'aborted'), 'unknown', false],
    ['stopped by us before the answer', failedAt('answer', 'aborted'), 'unknown', false],
  ] as const)('%s', (_, outcome, state, counts) => {
    expect(deliveryEndOf(STARTED, outcome, 99)).toMatchObject({
      webhookId: 3,
      end: { id: 'd', state, endedAtMs: 99 },
      counts,
    })
  })

  test.each([
    ['Cannot POST /in/S3CRET%20KEY', 'Cannot POST …'],
    ['<pre>Cannot POST /in/S3CRET KEY</pre>', '<pre>Cannot POST …</pre>'],
    ['/in/S3CRET%20KEY?token=abc&x=1 was not found', '… was not found'],
    ['https://hooks.example.com/in/S3CRET%20KEY?token=abc&amp;x=1', 'https://hooks.example.com……'],
    ['in', 'in'],
  ])('without the path and the query of the webhook: %s', (answer, shown) => {
    const { end } = deliveryEndOf(STARTED, { ...answered(404), answer } as EgressOutcome, 99)
    expect(end.answer).toBe(shown)
  })

  test.each([
    ['/abc', 'Cannot POST …'],
    ['/ab', 'Cannot POST /ab'],
  ])('without a path of four characters or more: %s', (path, shown) => {
    const outcome = { ...answered(404), answer: `Cannot POST ${path}` } as EgressOutcome
    expect(deliveryEndOf({ ...STARTED, url: `https://example.com${path}` }, outcome, 99).end.answer).toBe(shown)
  })

  test('as it was where the webhook has no path', () => {
    const outcome = { ...answered(200), answer: '/ a/b' } as EgressOutcome
    expect(deliveryEndOf({ ...STARTED, url: 'https://example.com/' }, outcome, 99).end.answer).toBe('/ a/b')
  })

  test('with what the receiver said', () => {
    const { end } = deliveryEndOf(STARTED, answered(204), 99)
    expect(end).toMatchObject({ statusCode: 204, durationMs: 7, answer: 'thanks', error: null })
    expect(deliveryEndOf(STARTED, failedAt('send', 'reset'), 99).end).toMatchObject({
      answer: null,
      error: { message: 'no' },
    })
  })

  test.each([
    ['stopped by us before it was sent', failedAt('tls', 'aborted'), false, true],
    ['out of time before it was sent, because the server stood still', failedAt('connect', 'timeout'), true, true],
    ['never connected', failedAt('connect', 'timeout'), false, false],
    ['stopped by us while it was sent', failedAt('send', 'aborted'), true, false],
    ['out of time before the answer', failedAt('answer', 'timeout'), true, false],
    ['answered after the server stood still', answered(500), true, false],
  ] as const)('%s: whether it may be sent once more', (_, outcome, stoodStill, unsent) => {
    expect(isUnsent(outcome, stoodStill)).toBe(unsent)
  })

  test('what says nothing about the receiver does not count for its health', () => {
    expect(interrupted('d', 3, new Error('ours'), 99)).toMatchObject({ counts: false, end: { state: 'unknown' } })
  })
})

describe('what ends are recorded as', () => {
  const { write, webhook, channelWebhook, get, lock, rows, store } = outgoing()
  const nothing = { body: new Uint8Array([1]), contentType: '', headers: {} }
  const start = (ids: string[]): Promise<void> =>
    write((tx) =>
      tx.deliveries.start(
        NODE,
        T,
        ids.map((id) => ({ id, payload: nothing })),
      ),
    )
  const record = (results: (Ended | Unsent)[]): Promise<void> => write((tx) => recordEnds(tx, NODE, results, random))
  const endedBy = (to: StoredWebhook, ids: string[], status: number, attempt: number | null = null): Ended[] =>
    ids.map((id) => ({ ...deliveryEndOf({ ...STARTED, id, webhookId: to.id }, answered(status), T), attempt }))
  /** Starts `count` deliveries and ends them all with this status. */
  const deliver = async (to: StoredWebhook, count: number, status: number, attempt?: number): Promise<string[]> => {
    const ids = await rows(to, count)
    await start(ids)
    await record(endedBy(to, ids, status, attempt))
    return ids
  }
  const hasRetry = async (atMs: number): Promise<boolean> => store().read.deliveries.isRetryDue(atMs)

  test('failures in a row count for their own webhook, and one that is delivered ends the count', async () => {
    const [one, other] = [await webhook(), await webhook({ failuresInRow: 5 })]
    const [a, b] = [await rows(one, 3), await rows(other, 1)]
    await start([...a, ...b])
    await record([...endedBy(one, a, 500), ...endedBy(other, b, 200)])
    expect([(await lock(one.id))?.failuresInRow, (await lock(other.id))?.failuresInRow]).toEqual([3, 0])
    expect((await get(a[0] ?? ''))?.state).toBe('failed')
    expect((await get(b[0] ?? ''))?.state).toBe('delivered')
  })

  test('what was not sent is pending again beside what was, and its webhook is as before', async () => {
    const to = await webhook({ failuresInRow: 5 })
    const [sent = '', unsent = ''] = await rows(to, 2)
    await start([sent, unsent])
    await record([{ webhookId: to.id, unsent }, ...endedBy(to, [sent], 500)])
    expect((await lock(to.id))?.failuresInRow).toBe(6)
    expect(await get(unsent)).toMatchObject({ state: 'pending', startedAtMs: null })
    expect((await get(sent))?.state).toBe('failed')
  })

  test('the hundredth failure in a row pauses, and what does not count does not', async () => {
    const to = await webhook({ failuresInRow: 98 })
    const [id = ''] = await rows(to, 1)
    await start([id])
    await record([{ ...interrupted(id, to.id, 'ours', T), attempt: null }])
    expect((await lock(to.id))?.failuresInRow).toBe(98)
    await deliver(to, 2, 500)
    const reason = [coded('deliveries_failed', { count: 100 }), coded('request_status', { status: 500 })]
    expect(await lock(to.id)).toMatchObject({ failuresInRow: 0, disabled: { untilMs: T + 3_600_000, reason } })
    // Deliveries of the token interface are never tried again.
    expect(await hasRetry(T + 1e9)).toBe(false)
  })

  test('an attempt of a channel event that failed gets another after its pause, the last and a delivered one do not', async () => {
    const to = await channelWebhook()
    await deliver(to, 1, 200, 1)
    await deliver(to, 1, 500, 6)
    const byHand = await rows(to, 1)
    await start(byHand)
    await record(endedBy(to, byHand, 500))
    expect(await hasRetry(T + 1e9)).toBe(false)
    await deliver(to, 1, 500, 2)
    expect([await hasRetry(T + 29_999), await hasRetry(T + 30_000)]).toEqual([false, true])
    expect(await write((tx) => tx.deliveries.release(T + 30_000, 9))).toBe(1)
  })

  test('of a channel webhook only events that are given up count, and the hundredth pauses it', async () => {
    const to = await channelWebhook({ failuresInRow: 99 })
    await deliver(to, 3, 500, 5)
    const byHand = await rows(to, 1)
    await start(byHand)
    await record(endedBy(to, byHand, 500))
    expect(await lock(to.id)).toMatchObject({ failuresInRow: 99, disabled: null })
    await deliver(to, 1, 500, 6)
    expect(await lock(to.id)).toMatchObject({ failuresInRow: 0, probedAtMs: T })
    expect((await lock(to.id))?.disabled?.untilMs).toBe(T + 3_600_000)
    await write((tx) => tx.deliveries.release(T + 1e9, 9))
  })

  test('a result that is written again, or comes after the delivery was given up, counts once and has one next attempt', async () => {
    const to = await channelWebhook({ failuresInRow: 9 })
    const [late = '', again = '', last = ''] = await rows(to, 3)
    await start([late])
    const lost = { nowMs: T, startedBeforeMs: T, reason: { message: 'lost' }, limit: 9, retryId: () => 'next' }
    expect(await write((tx) => tx.deliveries.expire(lost))).toBe(1)
    await start([again, last])
    const results = [...endedBy(to, [late, again], 500, 1), ...endedBy(to, [last], 500, 6)]
    for (let times = 0; times < 2; times += 1) await record(results)
    expect(await get(late)).toMatchObject({ state: 'failed', statusCode: 500 })
    expect((await lock(to.id))?.failuresInRow).toBe(10)
    expect(await write((tx) => tx.deliveries.release(T + 5000, 9))).toBe(2)
  })

  test('a probe that is delivered ends the pause, and what waited for its end goes on at once', async () => {
    const untilMs = T + 500_000
    const to = await channelWebhook({ disabled: { untilMs, reason: [{ code: 'text', values: { text: 'slow' } }] } })
    const [held = ''] = await rows(to, 1)
    await write((tx) => tx.deliveries.hold({ webhookId: to.id, untilMs, except: null, limit: 9 }))
    expect(await hasRetry(T)).toBe(false)
    await deliver(to, 1, 200, 1)
    expect(await lock(to.id)).toMatchObject({ disabled: null })
    expect(await hasRetry(T)).toBe(true)
    await write((tx) => tx.deliveries.release(T, 9))
    expect((await get(held))?.state).toBe('pending')
  })
})
