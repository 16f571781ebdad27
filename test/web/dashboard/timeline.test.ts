import { expect, test } from 'vitest'
import { timelineOf } from '../../../web/dashboard/src/pages/overview/timeline.ts'

type Given = Parameters<typeof timelineOf>

const at = (minute: number): string => new Date(Date.UTC(2026, 4, 14, 16, minute)).toISOString()
const happening = (minute: number, what: Given[0][number]['what'], streamName = 'show') =>
  ({ id: minute, at: at(minute), what, streamName, detail: '' }) satisfies Given[0][number]
const onAir = (minute: number, streamName = 'show') =>
  ({ streamName, startedOn: at(minute), tokenLabel: 'Studio' }) as Given[1][number]
const over = (from: number, until: number, streamName = 'show') =>
  ({ feedId: `${from}`, streamName, startedOn: at(from), endedOn: at(until), endReason: 'left' }) as Given[2][number]

const shown = (seen: Given[0], live: Given[1], past: Given[2], most = 12) =>
  timelineOf(seen, live, past, most).map((line) => `${new Date(line.at).getUTCMinutes()} ${line.what}`)

test('starts and ends come from what the server knows, the newest first, also from before the page was opened', () => {
  expect(shown([], [onAir(9)], [over(5, 7), over(1, 3)])).toEqual([
    '9 started',
    '7 ended',
    '5 started',
    '3 ended',
    '1 started',
  ])
  const [first] = timelineOf([], [], [over(5, 7)], 12)
  expect(first).toMatchObject({ what: 'ended', broadcast: { endReason: 'left' } })
})

test('what the page saw itself is shown once, and an end until its broadcast is listed', () => {
  expect(shown([happening(9, 'started')], [onAir(9)], [])).toEqual(['9 started'])
  expect(shown([happening(7, 'ended'), happening(5, 'started')], [], [])).toEqual(['7 ended', '5 started'])
  expect(shown([happening(7, 'ended'), happening(5, 'started')], [], [over(5, 7)])).toEqual(['7 ended', '5 started'])
  expect(shown([happening(7, 'ended', 'other')], [], [over(5, 7)])).toEqual(['7 ended', '7 ended', '5 started'])
  expect(shown([happening(6, 'stalled')], [onAir(5)], [])).toEqual(['6 stalled', '5 started'])
})

test('only so many lines are shown', () => {
  expect(shown([], [onAir(9)], [over(5, 7)], 2)).toEqual(['9 started', '7 ended'])
})
