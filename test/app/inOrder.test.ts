import { expect, test } from 'vitest'
import { inOrder } from '../../src/app/inOrder.ts'
import { ManualClock } from '../../src/base/clock.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { until } from '../support/until.ts'

const gone = () => Promise.reject(new StoreUnavailable('gone'))

function writing() {
  const clock = new ManualClock()
  const done: string[] = []
  const lost: string[] = []
  const warn = (facts: object, message?: string) => {
    if (message === 'a change of a target is lost') lost.push((facts as { streamName: string }).streamName)
  }
  return { clock, lost, done, records: inOrder({ clock, log: { info: () => undefined, warn } }, 'target') }
}

test('what cannot be written is tried again until the store is back, and what comes later waits', async () => {
  const { clock, done, records } = writing()
  let isGone = true
  records.write(async (isAgain) => {
    done.push(`start ${isAgain}`)
    if (isGone) await gone()
  }, {})
  records.write(async (isAgain) => void done.push(`end ${isAgain}`), {})
  await until(() => done.length === 1)
  await until(() => {
    clock.advance(1000)
    return done.length >= 3
  })
  isGone = false
  await until(() => {
    clock.advance(1000)
    return done.at(-1) === 'end false'
  })
  expect(done.slice(0, 3)).toEqual(['start false', 'start true', 'start true'])
  expect(new Set(done.slice(3, -1))).toEqual(new Set(['start true']))
})

test('what waits is bounded, what can never be written holds nothing up, and a stop tries each once more', async () => {
  const { done, lost, records } = writing()
  records.write(() => Promise.reject(new Error('wrong')), { streamName: 'never' })
  await records.written
  records.write(gone, { streamName: 'first' })
  for (const streamName of ['oldest', 'second']) records.write(async () => void done.push(streamName), { streamName })
  for (let count = 3; count < 1000; count += 1) records.write(async () => void done.push('written'), {})
  records.write(async () => void done.push('newest'), { streamName: 'newest' })
  await records.stop()
  // What is now was lost, and is not any more. The first one was being written.
  expect([done.length, done[0], done.at(-1)]).toEqual([999, 'second', 'newest'])
  expect(lost).toEqual(['never', 'oldest', 'first'])
})
