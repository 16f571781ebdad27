import { describe, expect, test } from 'vitest'
import { isStale, isWanted, mayBeWanted, mayComeSoon } from '../../../src/core/pulls/demand.ts'
import { toPullRecord } from '../../../src/core/pulls/rules.ts'
import type { Pull } from '../../../src/core/pulls/types.ts'
import { offTarget } from '../../../src/core/restream/state.ts'

const NOW = 1_750_000_000_000
const pull = (over: Partial<Pull> = {}): Pull => ({
  id: 1,
  accountId: 'a',
  tokenId: 7,
  streamName: 'door',
  label: '',
  enabled: true,
  when: 'onDemand',
  shownUrl: 'rtsp://camera.example.com/',
  version: 1,
  addedAtMs: NOW,
  demandAtMs: 0,
  node: null,
  state: offTarget(NOW),
  lastProblem: null,
  ...over,
})
const inState = (status: Pull['state']['status'], retryAtMs: number | null = null, message?: string) => ({
  state: { status, sinceMs: NOW, retryAtMs, problem: message === undefined ? null : { message } },
})
const before = (ms: number) => ({ demandAtMs: NOW - ms })

test('a pull on demand is wanted for 20 seconds after a viewer wanted it, and one for always is always', () => {
  expect(isWanted(pull(), NOW)).toBe(false)
  expect(isWanted(pull({ when: 'always' }), NOW)).toBe(true)
  expect([19_999, 20_000].map((ms) => isWanted(pull(before(ms)), NOW))).toEqual([true, false])
  // The clock was put back since.
  expect(isWanted(pull(before(-3_600_000)), NOW)).toBe(false)
  expect([4_999, 5_000, -5_000].map((ms) => isStale(pull(before(ms)), NOW))).toEqual([false, true, true])
})

test('viewers do not have a source dialled that refused its login, nor one that has just failed', () => {
  const there = { node: 'n' }
  expect(mayBeWanted(pull({ ...there, ...inState('refused') }), NOW)).toBe(false)
  expect(mayBeWanted(pull({ ...there, ...inState('failed'), ...before(10_000) }), NOW)).toBe(false)
  expect(mayBeWanted(pull({ ...there, ...inState('failed'), ...before(21_000) }), NOW)).toBe(true)
  expect(mayBeWanted(pull({ ...there, ...inState('waiting'), ...before(10_000) }), NOW)).toBe(true)
  // Its node is gone, and with it what it knew.
  expect(mayBeWanted(pull(inState('refused')), NOW)).toBe(true)
})

test('viewers do not wait for an attempt that comes too late for them', () => {
  expect(mayComeSoon(pull(inState('waiting', NOW + 7_000)), NOW)).toBe(true)
  expect(mayComeSoon(pull(inState('waiting', NOW + 8_000)), NOW)).toBe(false)
  expect(mayComeSoon(pull(inState('connecting')), NOW)).toBe(true)
})

describe('the record of a pull', () => {
  test.each([
    ['is switched off', { enabled: false, ...inState('off', null, 'why') }, false, { status: 'off' }],
    ['has no viewer', {}, false, { status: 'idle' }],
    ['had no media when it was last dialled', inState('off', null, 'why'), false, { status: 'idle', problem: 'why' }],
    ['is wanted, and has no node yet', before(1), false, { status: 'connecting' }],
    ['is wanted, and is not dialled yet', before(1), true, { status: 'connecting' }],
    ['still runs', inState('live'), true, { status: 'live' }],
    ['was refused', inState('refused', null, 'why'), true, { status: 'refused', problem: 'why' }],
    ['ran at a node that is gone', { ...inState('live'), ...before(1) }, false, { status: 'connecting' }],
    ['is dialled always', { when: 'always' as const }, false, { status: 'connecting' }],
  ])('that %s', (_, over, isRunning, shown) => {
    const { status, problem } = toPullRecord(pull(over), { nowMs: NOW, isRunning, seesSecrets: true })
    expect({ status, ...(problem === undefined ? {} : { problem }) }).toEqual(shown)
  })
})
