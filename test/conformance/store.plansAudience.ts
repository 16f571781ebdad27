import type { Reads, Tx } from '../../src/store/store.ts'

const HOUR_MS = 3_600_000

/** SQL of the columns of row `i` of the audience. */
export const audienceRows = (of: Readonly<Record<string, string>>, nowMs: number): Record<string, string> => ({
  ...of,
  span: `case when i % 24 = 0 then 'day' else 'hour' end`,
  at_ms: `${nowMs - (nowMs % HOUR_MS)} + (i / 500) * ${HOUR_MS}`,
  views: '1',
  watch_ms: '1',
  most: '1',
  viewers: `''`,
  quality: `''`,
  // About the size of a row: in a table of few pages a scan would be the right choice.
  parts: `'[[],[["NZ",1,1,1,"${'x'.repeat(380)}"]]]'`,
})

type Case = readonly [string, (on: { reads: Reads; tx: Tx }) => Promise<unknown>, search?: string]

/** What the job and the reports ask, and what finds the rows. */
export function audienceCases({ accountId, nowMs }: { accountId: string; nowMs: number }): readonly Case[] {
  const hours = { fromMs: nowMs - 2 * HOUR_MS, untilMs: nowMs }
  const query = { accountId, length: 'hour', withParts: true, ...hours } as const
  return [
    [
      'the audience of a stream',
      ({ reads }) => reads.audience.slots({ ...query, streamName: 'show-7' }),
      // Not in a table that is sorted by it: its rows are wide, and every search would read many.
      'audience_key',
    ],
    [
      'views by country of streams',
      ({ reads }) => reads.audience.countries({ ...query, streamNames: ['show-7', 'show-8'], limit: 100 }),
      'audience_key',
    ],
    ['the audience of each stream', ({ reads }) => reads.audience.streams({ ...query, limit: 100 }), 'audience_time'],
    ['the audience of a day', ({ tx }) => tx.audience.at('day', nowMs - (nowMs % HOUR_MS)), 'at_ms=?'],
    [
      'the sessions of an hour',
      ({ reads }) => reads.audience.sessions({ fromMs: nowMs + 19_900, untilMs: 2 * nowMs }, 1),
      'sessions_ended',
    ],
    [
      'broadcasts in a time',
      ({ reads }) => reads.audience.published({ accountId, fromMs: nowMs + 19_900, untilMs: 2 * nowMs, limit: 100 }),
      'account_id=?',
    ],
    [
      'broadcasts of streams in a time',
      ({ reads }) =>
        reads.audience.published({ accountId, streamNames: ['show-7'], fromMs: 0, untilMs: 2 * nowMs, limit: 100 }),
      'stream_name=?',
    ],
    [
      'viewers who were admitted in a time',
      ({ reads }) => reads.audience.range({ accountId, after: '1', before: 'z', limit: 10 }),
      'sessions_viewers',
    ],
    ['old audiences', ({ tx }) => tx.audience.prune(nowMs - 2 * HOUR_MS, 100), 'at_ms<?'],
  ]
}
