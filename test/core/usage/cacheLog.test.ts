import { describe, expect, it } from 'vitest'
import { CACHE_TICKETS_MAX, readCacheLine, readCacheLogBatch } from '../../../src/core/usage/cacheLog.ts'

const log = 'a'.repeat(64)
const ANSWER_MAX = 256 * 1024 * 1024
const sent = { ticket: 'v1.abc-_', stream: 'show', answers: 2, bytes: 10 }
const batch = { log, from: 0, to: 100, sent: [sent] }

describe('a line of the log of a cache', () => {
  it.each([
    ['2026-01-01T00:00:00Z 200 5 /hls/~v1.abc/show/run/s0.m4s', { ticket: 'v1.abc', stream: 'show', bytes: 5 }],
    ['t 206 0 /hls/~v1.abc/show/run/init.mp4?x=1', { ticket: 'v1.abc', stream: 'show', bytes: 0 }],
    [`t 200 ${ANSWER_MAX} /hls/~v/s/r/a.m4s`, { ticket: 'v', stream: 's', bytes: ANSWER_MAX }],
    ['t 304 0 /hls/~v/s/r/a.m4s', 'other'],
    ['t 200 5 /index.html', 'other'],
    ['t 200 5 /hls/~v/check', 'other'],
    [`t 200 ${ANSWER_MAX + 1} /hls/~v/s/r/a.m4s`, 'malformed'],
    ['t 200 5 /hls/~v/s/a.m4s', 'malformed'],
    ['', 'malformed'],
  ])('%s', (line, expected) => expect(readCacheLine(line)).toEqual(expected))
})

describe('a batch of a log', () => {
  it.each([
    ['the smallest', { log, from: 0, to: 0, sent: [] }],
    ['one at the last position', { ...batch, from: 1e15, to: 1e15, sent: [] }],
    ['the most tickets', { ...batch, sent: Array.from({ length: CACHE_TICKETS_MAX }, () => sent) }],
    ['the most bytes of an answer', { ...batch, sent: [{ ...sent, bytes: 2 * ANSWER_MAX }] }],
    ['the most answers', { ...batch, sent: [{ ...sent, answers: 1_000_000 }] }],
  ])('is taken: %s', (_, body) => expect(readCacheLogBatch(body)).toEqual({ ok: true, value: body }))

  it.each([
    [null, 'The body must be a JSON object'],
    [{ ...batch, log: 5 }, 'log must be 64 hexadecimal digits'],
    [{ ...batch, log: log.slice(1) }, 'log must be 64 hexadecimal digits'],
    [{ ...batch, from: 1, to: 0 }, 'from and to must be byte positions'],
    [{ ...batch, from: -1 }, 'from and to must be byte positions'],
    [{ ...batch, to: 1e15 + 1 }, 'from and to must be byte positions'],
    [{ ...batch, to: 0.5 }, 'from and to must be byte positions'],
    [{ ...batch, sent: {} }, 'sent must be a list'],
    [{ ...batch, sent: Array.from({ length: CACHE_TICKETS_MAX + 1 }, () => sent) }, 'sent must be a list'],
    [{ ...batch, to: 0 }, 'sent must be empty'],
    [{ ...batch, sent: [sent, { ...sent, ticket: 'a b' }] }, 'sent[1] must have'],
    [{ ...batch, sent: [{ ...sent, stream: 'a/b' }] }, 'sent[0] must have'],
    [{ ...batch, sent: [{ ...sent, answers: 1_000_001 }] }, 'sent[0] must have'],
    [{ ...batch, sent: [{ ...sent, bytes: 2 * ANSWER_MAX + 1 }] }, 'sent[0] must have'],
    [{ ...batch, sent: [5] }, 'sent[0] must have'],
  ])('is refused with what is wrong: %j', (body, problem) =>
    expect(readCacheLogBatch(body)).toEqual({ ok: false, error: expect.stringContaining(problem) as string }),
  )
})
