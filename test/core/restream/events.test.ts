import { expect, test } from 'vitest'
import { type TargetChange, targetRuns } from '../../../src/core/restream/events.ts'

const change = (atMs: number, status: TargetChange['status'], over: Partial<TargetChange> = {}): TargetChange => ({
  index: 0,
  label: 'Studio',
  url: 'rtmp://a/b',
  status,
  problem: null,
  atMs,
  ...over,
})

const gone = { problem: { message: 'gone' } }

test('the runs of a target begin when it takes media and end when it no longer does, with what was wrong', () => {
  const changes = [
    change(1, 'connecting'),
    change(2, 'live'),
    change(3, 'waiting', gone),
    change(4, 'connecting'),
    change(5, 'waiting', gone),
    change(6, 'connecting'),
    change(7, 'waiting', { problem: { message: 'closed' } }),
    change(8, 'live'),
    change(9, 'off'),
    change(10, 'connecting'),
    change(11, 'live', { label: 'Stage' }),
    // It has moved.
    change(12, 'connecting'),
    change(13, 'live', { label: 'Stage' }),
  ]
  expect(targetRuns(changes, null)).toEqual([
    {
      index: 0,
      label: 'Stage',
      url: 'rtmp://a/b',
      active: true,
      events: [
        { started: 2, ended: 3, error: 'gone' },
        { ended: 7, error: 'closed' },
        { started: 8, ended: 9 },
        { started: 11, ended: 12 },
        { started: 13 },
      ],
    },
  ])
})

test('targets are apart by place and address, and one that was never live has its problem once', () => {
  const other = { index: 1, url: 'rtmp://c/d' }
  const runs = targetRuns(
    [
      change(1, 'connecting'),
      change(2, 'connecting', other),
      change(3, 'refused', { problem: { message: 'no' } }),
      change(4, 'live', other),
      change(5, 'connecting', { url: 'rtmp://e/f' }),
    ],
    null,
  )
  expect(runs.map(({ index, url, active, events }) => [index, url, active, events])).toEqual([
    [0, 'rtmp://a/b', false, [{ ended: 3, error: 'no' }]],
    [1, 'rtmp://c/d', true, [{ started: 4 }]],
    [0, 'rtmp://e/f', false, []],
  ])
  expect(targetRuns([], null)).toEqual([])
})

test('a target whose end was not written, because its node died, ended with its feed', () => {
  const [target] = targetRuns([change(1, 'connecting'), change(2, 'live')], 9)
  expect(target).toMatchObject({ active: false, events: [{ started: 2, ended: 9 }] })
})
