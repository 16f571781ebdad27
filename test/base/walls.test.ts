import { expect, test } from 'vitest'
import { eachWalled, LaterFault, walled } from '../../src/base/walls.ts'

const raise = (error: unknown): never => {
  throw error
}

test('a handler behind a wall throws nothing, and says what it would throw and what it was given', () => {
  const [handled, failed]: [unknown[], unknown[]] = [[], []]
  const handle = walled(
    (name: string, isBroken: boolean) => (isBroken ? raise(name) : void handled.push(name)),
    (...all) => failed.push(all),
  )
  handle('a', false)
  handle('b', true)
  handle('c', false)
  expect([handled, failed]).toEqual([['a', 'c'], [['b', 'b', true]]])
})

test('one that fails keeps nothing from the others, and may leave meanwhile', () => {
  const [all, done]: [Set<string>, string[]] = [new Set(['a', 'b', 'c']), []]
  const work = (one: string): unknown => (one === 'b' ? raise(one) : done.push(one))
  eachWalled(all, work, (error, one) => all.delete(one) && done.push(`without ${String(error)}`))
  expect([done, [...all]]).toEqual([
    ['a', 'without b', 'c'],
    ['a', 'c'],
  ])
})

test('the first fault in the middle of the work for another is thrown with the own work, once', () => {
  const fault = new LaterFault()
  fault.during(() => raise('first'))
  fault.during(() => raise('second'))
  fault.during(() => undefined)
  expect(() => fault.raise()).toThrow('first')
  expect(() => fault.raise()).not.toThrow()
})
