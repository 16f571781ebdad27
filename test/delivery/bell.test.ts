import { expect, test } from 'vitest'
import { Bell } from '../../src/delivery/bell.ts'

const passed = async (bell: Bell): Promise<() => boolean> => {
  let over = false
  void bell.wait().then(() => (over = true))
  await new Promise(setImmediate)
  return () => over
}

test('a bell wakes who waits, once for all rings before, and then waits for the next', async () => {
  const bell = new Bell()
  const first = await passed(bell)
  expect(first()).toBe(false)
  bell.ring()
  await new Promise(setImmediate)
  expect(first()).toBe(true)
  bell.ring()
  bell.ring()
  expect((await passed(bell))()).toBe(true)
  const last = await passed(bell)
  expect(last()).toBe(false)
  bell.ring()
  await new Promise(setImmediate)
  expect(last()).toBe(true)
})
