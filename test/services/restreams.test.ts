import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { AttemptEvent } from '../../src/core/restream/driver.ts'
import type { TargetNews } from '../../src/core/restream/state.ts'
import { type OpenTarget, type RestreamedFeed, Restreams, type TargetUse } from '../../src/services/restreams.ts'
import { silentLog } from '../support/log.ts'

const feed: RestreamedFeed = { feedId: 'f', accountId: 'a', streamName: 's', tokenId: 7 }
const target = (index: number, changes: Partial<OpenTarget> = {}): OpenTarget => ({
  index,
  url: `rtmp://target${index}.example.com/app`,
  key: `secret-key-${index}`,
  label: '',
  enabled: true,
  transcode: false,
  ...changes,
})

/** One attempt, as the test plays it. */
interface Attempt {
  readonly to: OpenTarget
  readonly report: (event: AttemptEvent) => void
  isOver: boolean
  bytesOut: number
}

async function begin(...targets: OpenTarget[]) {
  const clock = new ManualClock()
  const attempts: Attempt[] = []
  const changes: string[] = []
  const news: TargetNews[] = []
  const uses: TargetUse[] = []
  const watches = new Set<() => void>()
  const stored: { targets: readonly OpenTarget[]; isAway: boolean } = { targets, isAway: false }
  const restreams = new Restreams({
    clock,
    random: systemRandom,
    log: silentLog,
    targetsOf: async () => {
      if (stored.isAway) throw new Error('the store is away')
      return stored.targets
    },
    open: (to, _feed, report) => {
      const attempt: Attempt = { to, report, isOver: false, bytesOut: 0 }
      attempts.push(attempt)
      return {
        get bytes() {
          return { bytesIn: 1, bytesOut: attempt.bytesOut }
        },
        tick: () => undefined,
        end: () => (attempt.isOver = true),
      }
    },
    onOtherCodecs: (_feed, watch) => {
      watches.add(watch)
      return () => void watches.delete(watch)
    },
    changed: (_feed, { index, state }, told) => {
      changes.push(`${index} ${state.status}`)
      if (told !== null) news.push(told)
    },
    used: (_feed, use) => uses.push(use),
  })
  await restreams.start(feed)
  const store = (...next: OpenTarget[]): Promise<void> => {
    stored.targets = next
    return restreams.sync(({ tokenId }) => tokenId === feed.tokenId)
  }
  const pass = (ms: number): void => {
    clock.advance(ms)
    restreams.tick()
  }
  const statuses = (): string[] => restreams.report('f').map(({ state }) => state.status)
  return { clock, attempts, changes, news, uses, watches, restreams, stored, store, pass, statuses }
}

describe('the targets of a feed', () => {
  test('are dialled when it begins, but for those that are switched off, and end with it', async () => {
    const { attempts, restreams, statuses, news } = await begin(target(0), target(1, { enabled: false }), target(2))
    expect(attempts.map(({ to }) => to.index)).toEqual([0, 2])
    attempts[0]?.report({ kind: 'accepted' })
    expect(statuses()).toEqual(['live', 'off', 'connecting'])
    restreams.stop('f')
    expect(attempts.map(({ isOver }) => isOver)).toEqual([true, true])
    expect([restreams.report('f'), news]).toEqual([[], ['started', 'ended']])
  })

  test('are dialled again each by itself', async () => {
    const { attempts, pass, statuses } = await begin(target(0), target(1))
    attempts[0]?.report({ kind: 'accepted' })
    attempts[1]?.report({ kind: 'lost', message: 'gone' })
    expect(statuses()).toEqual(['live', 'waiting'])
    pass(1000)
    expect(statuses()).toEqual(['live', 'connecting'])
    expect(attempts).toHaveLength(3)
  })

  test('do not hear of an attempt that is over', async () => {
    const { attempts, pass, statuses } = await begin(target(0))
    attempts[0]?.report({ kind: 'lost', message: 'gone' })
    pass(1000)
    attempts[0]?.report({ kind: 'accepted' })
    attempts[0]?.report({ kind: 'lost', message: 'late' })
    expect(statuses()).toEqual(['connecting'])
  })

  test('stay as they are when others change, and follow a change of their own', async () => {
    const { attempts, store, statuses } = await begin(target(0), target(1))
    for (const { report } of attempts) report({ kind: 'accepted' })
    await store(target(0), target(1, { key: 'another-key' }), target(2))
    expect(attempts.map(({ to, isOver }) => [to.key, isOver])).toEqual([
      ['secret-key-0', false],
      ['secret-key-1', true],
      ['another-key', false],
      ['secret-key-2', false],
    ])
    expect(statuses()).toEqual(['live', 'connecting', 'connecting'])
    await store()
    expect(attempts.every(({ isOver }) => isOver)).toBe(true)
  })

  test('tell where they are in the list when others before them are taken away', async () => {
    const { attempts, changes, news, store } = await begin(target(0), target(1), target(2))
    for (const { report } of attempts) report({ kind: 'accepted' })
    changes.length = 0
    await store(target(0, { url: 'rtmp://target2.example.com/app', key: 'secret-key-2' }))
    expect(changes.toSorted()).toEqual(['0 live', '0 off', '1 off', '2 off'])
    expect(changes.at(-1)).toBe('0 live')
    expect(attempts.map(({ isOver }) => isOver)).toEqual([true, true, false])
    expect(news).toEqual(['started', 'started', 'started', 'ended', 'ended'])
  })

  test('are read again after a look that failed, and go on meanwhile', async () => {
    const { stored, store, pass, statuses } = await begin(target(0))
    stored.isAway = true
    await store(target(0), target(1))
    expect(statuses()).toEqual(['connecting'])
    stored.isAway = false
    pass(1000)
    await expect.poll(statuses).toEqual(['connecting', 'connecting'])
  })

  test('go on when one before them is taken away, and stop when they are switched off', async () => {
    const { attempts, store, statuses, restreams } = await begin(target(0), target(1))
    for (const { report } of attempts) report({ kind: 'accepted' })
    await store({ ...target(1), index: 0, label: 'Only' })
    expect(attempts.map(({ isOver }) => isOver)).toEqual([true, false])
    expect(restreams.report('f')).toMatchObject([{ index: 0, label: 'Only', state: { status: 'live' } }])
    await store({ ...target(1), index: 0, enabled: false })
    expect([statuses(), attempts[1]?.isOver]).toEqual([['off'], true])
  })

  test('that were refused are dialled again when the owner asks', async () => {
    const { attempts, pass, store, statuses } = await begin(target(0))
    for (let at = 0; at < 3; at++) {
      attempts.at(-1)?.report({ kind: 'refused', message: 'no', isInUse: false })
      pass(30_000)
    }
    expect([statuses(), attempts.length]).toEqual([['refused'], 3])
    await store(target(0))
    expect([statuses(), attempts.length]).toEqual([['connecting'], 4])
  })

  test('that could not take a codec are dialled again when the publisher chooses another', async () => {
    const { attempts, pass, restreams, statuses, watches } = await begin(target(0), target(1))
    const unsuitable = { kind: 'unsuitable', message: 'the video is VP8' } as const
    attempts[0]?.report(unsuitable)
    expect([statuses(), watches.size]).toEqual([['failed', 'connecting'], 1])
    for (const changed of watches) changed()
    pass(1000)
    expect([statuses(), attempts.length, watches.size]).toEqual([['connecting', 'connecting'], 3, 0])
    attempts[2]?.report(unsuitable)
    restreams.stop('f')
    expect(watches.size).toBe(0)
  })

  test('are not dialled when the feed has ended while they were read', async () => {
    const { restreams, attempts } = await begin()
    const late = { ...feed, feedId: 'late' }
    const started = restreams.start(late)
    restreams.stop('late')
    await started
    expect(attempts).toEqual([])
  })

  test('count the bytes and the time of all attempts, and show no key', async () => {
    const { clock, attempts, pass, restreams } = await begin(target(0))
    attempts[0]?.report({ kind: 'accepted' })
    clock.advance(4000)
    Object.assign(attempts[0] ?? {}, { bytesOut: 500 })
    attempts[0]?.report({ kind: 'lost', message: 'gone' })
    pass(1000)
    attempts[1]?.report({ kind: 'accepted' })
    Object.assign(attempts[1] ?? {}, { bytesOut: 70 })
    clock.advance(2000)
    const [report] = restreams.report('f')
    expect(report).toMatchObject({ bytesIn: 2, bytesOut: 570, liveMs: 6000 })
    expect(JSON.stringify(report)).not.toContain('secret-key')
  })

  test('have a bitrate while they are live, and their last problem after it', async () => {
    const { attempts, pass, restreams, clock } = await begin(target(0))
    const facts = () => restreams.report('f').map(({ bitrateOut, lastProblem }) => [bitrateOut, lastProblem])
    attempts[0]?.report({ kind: 'accepted' })
    for (let second = 1; second <= 20; second++) {
      // It sends twice as much from the eleventh second on.
      Object.assign(attempts[0] ?? {}, { bytesOut: 1000 * (second + Math.max(0, second - 10)) })
      pass(1000)
      if (second === 10) expect(facts()).toEqual([[8000, null]])
    }
    expect(facts()).toEqual([[16_000, null]])
    const gone = { message: 'gone', sentences: [], atMs: clock.now() }
    attempts[0]?.report({ kind: 'lost', message: 'gone' })
    expect(facts()).toEqual([[null, gone]])
    pass(1000)
    attempts[1]?.report({ kind: 'accepted' })
    expect(facts()).toEqual([[null, gone]])
  })

  test('pass on what they used since the last second, also when they are taken away', async () => {
    const { attempts, pass, restreams, uses } = await begin(target(0))
    attempts[0]?.report({ kind: 'accepted' })
    Object.assign(attempts[0] ?? {}, { bytesOut: 500 })
    pass(1000)
    Object.assign(attempts[0] ?? {}, { bytesOut: 570 })
    restreams.stop('f')
    const sum = (of: keyof TargetUse) => uses.reduce((total, use) => total + use[of], 0)
    expect([sum('bytesIn'), sum('bytesOut'), sum('liveMs')]).toEqual([1, 570, 1000])
    expect(uses.at(-1)).toEqual({ bytesIn: 0, bytesOut: 70, liveMs: 0 })
  })
})
