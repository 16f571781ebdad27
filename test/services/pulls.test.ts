import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { AttemptEvent } from '../../src/core/restream/driver.ts'
import { offTarget } from '../../src/core/restream/state.ts'
import { Pulls } from '../../src/services/pulls.ts'
import type { StoredPull } from '../../src/store/store.ts'

function begin() {
  const clock = new ManualClock()
  const attempts: { report: (event: AttemptEvent) => void; isOver: boolean }[] = []
  const changes: string[] = []
  const pulls = new Pulls({
    clock,
    random: systemRandom,
    open(_, report) {
      const attempt = { report, isOver: false }
      attempts.push(attempt)
      return { tick: () => undefined, end: () => (attempt.isOver = true) }
    },
    changed: (_, { status, problem }) => changes.push([status, problem?.message].filter(Boolean).join(': ')),
  })
  const pull = (over: Partial<StoredPull> = {}): StoredPull => ({
    id: 1,
    accountId: 'a',
    tokenId: 7,
    streamName: 'door',
    label: '',
    urlSealed: Uint8Array.of(1),
    shownUrl: 'rtsp://camera/',
    enabled: true,
    when: 'onDemand',
    version: 1,
    addedAtMs: 0,
    demandAtMs: 0,
    node: 'n',
    state: offTarget(0),
    lastProblem: null,
    ...over,
  })
  const wanted = (over: Partial<StoredPull> = {}) => pull({ demandAtMs: clock.now(), ...over })
  const pass = (seconds: number): void => {
    for (let second = 0; second < seconds; second += 1) {
      clock.advance(1000)
      pulls.tick()
    }
  }
  return { clock, attempts, changes, pulls, pull, wanted, pass }
}

test('a pull on demand is dialled when it is wanted, and left 20 seconds after the last viewer', () => {
  const { attempts, pulls, pull, wanted, pass } = begin()
  pulls.follow([pull()])
  expect([attempts.length, pulls.has(1)]).toEqual([0, false])
  const first = wanted()
  pulls.follow([first])
  attempts[0]?.report({ kind: 'accepted' })
  pass(19)
  pulls.follow([first])
  expect(attempts[0]?.isOver).toBe(false)
  pass(1)
  pulls.follow([first])
  expect([attempts.length, attempts[0]?.isOver, pulls.has(1)]).toEqual([1, true, false])
  pulls.follow([wanted()])
  expect(attempts.length).toBe(2)
})

test.each([90_000, -90_000])('a pull on demand with viewers ended when the clock was set by %i ms', (byMs) => {
  const { clock, attempts, pulls, wanted, pass } = begin()
  const first = wanted()
  pulls.follow([first])
  attempts[0]?.report({ kind: 'accepted' })
  clock.setWall(byMs)
  pulls.follow([first])
  // Another node has renewed the wish.
  pass(10)
  pulls.follow([wanted()])
  pass(19)
  expect(attempts.map(({ isOver }) => isOver)).toEqual([false])
  const latest = wanted()
  pulls.follow([latest])
  // A suspended process could not renew it.
  clock.advance(60_000)
  pulls.follow([latest])
  expect(attempts.map(({ isOver }) => isOver)).toEqual([false])
})

test.each([
  { over: { label: 'Front door' }, dials: 1 },
  { over: { when: 'onDemand' }, dials: 1 },
  { over: { streamName: 'gate' }, dials: 2 },
  { over: { tokenId: 8 }, dials: 2 },
  { over: { urlSealed: Uint8Array.of(2) }, dials: 2 },
] as const)('a source on the air that is edited goes on unless it is another one: $over', ({ over, dials }) => {
  const { attempts, pulls, wanted } = begin()
  pulls.follow([wanted({ when: 'always' })])
  attempts[0]?.report({ kind: 'accepted' })
  pulls.follow([wanted({ when: 'always', version: 2, ...over })])
  pulls.follow([wanted({ when: 'always', version: 2, ...over })])
  expect([attempts.length, attempts[0]?.isOver]).toEqual([dials, dials > 1])
})

test('what was wrong with a source that is left is told', () => {
  const { clock, attempts, changes, pulls, wanted, pass } = begin()
  const first = wanted()
  pulls.follow([first])
  pass(19)
  clock.advance(1000)
  attempts[0]?.report({ kind: 'lost', message: 'No answer' })
  pulls.follow([first])
  expect(changes).toEqual(['connecting', 'waiting: No answer', 'off: No answer'])
})

test('why the attempt before failed is told until the source is live', () => {
  const { clock, attempts, changes, pulls, pull } = begin()
  pulls.follow([pull({ when: 'always' })])
  attempts[0]?.report({ kind: 'lost', message: 'No answer' })
  clock.advance(1000)
  pulls.tick()
  attempts[1]?.report({ kind: 'accepted' })
  expect(changes).toEqual(['connecting', 'waiting: No answer', 'connecting: No answer', 'live'])
})

test('one that was refused three times stays so, until it is changed or its token is; then a viewer has it dialled', () => {
  const { clock, attempts, changes, pulls, pull, wanted } = begin()
  pulls.follow([wanted()])
  for (const at of [0, 1, 2]) {
    attempts[at]?.report({ kind: 'refused', message: 'No', isInUse: false })
    clock.advance(5_000)
    pulls.tick()
  }
  expect(changes.at(-1)).toBe('refused: No')
  clock.advance(60_000)
  pulls.follow([pull()])
  pulls.follow([wanted()])
  expect([attempts.length, pulls.has(1)]).toEqual([3, true])
  pulls.retry(7)
  pulls.follow([pull()])
  expect([attempts.length, pulls.has(1)]).toEqual([3, false])
  pulls.follow([wanted()])
  expect(attempts.length).toBe(4)
  pulls.follow([pull({ version: 2 })])
  expect([attempts.length, pulls.has(1)]).toEqual([4, false])
})

test('one for always begins at once, and needs no viewer', () => {
  const { clock, attempts, pulls, pull } = begin()
  const always = pull({ when: 'always' })
  pulls.follow([always])
  clock.advance(60_000)
  pulls.follow([always])
  expect([attempts.length, attempts[0]?.isOver]).toEqual([1, false])
})
