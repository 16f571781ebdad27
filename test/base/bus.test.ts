import { expect, test } from 'vitest'
import { Bus } from '../../src/base/bus.ts'

interface Events {
  readonly counted: number
  readonly done: void
}

test('each listener hears the events of its name, in order, until it stops', () => {
  const bus = new Bus<Events>()
  const heard: unknown[] = []
  const first = bus.on('counted', (value) => heard.push(['first', value]))
  bus.on('counted', (value) => heard.push(['second', value]))
  bus.on('done', () => heard.push('done'))
  bus.emit('counted', 1)
  first()
  bus.emit('counted', 2)
  bus.emit('done', undefined)
  expect(heard).toEqual([['first', 1], ['second', 1], ['second', 2], 'done'])
})

test('a function that listens twice stops once at a time', () => {
  const bus = new Bus<Events>()
  let heard = 0
  const listener = () => (heard += 1)
  const stops = [bus.on('done', listener), bus.on('done', listener)]
  bus.emit('done', undefined)
  stops[0]?.()
  bus.emit('done', undefined)
  expect(heard).toBe(3)
})

test('who stops or comes while an event is emitted changes the next one', () => {
  const bus = new Bus<Events>()
  const heard: string[] = []
  const stop = bus.on('done', () => {
    heard.push('once')
    stop()
    bus.on('done', () => heard.push('later'))
  })
  bus.emit('done', undefined)
  expect(heard).toEqual(['once'])
  bus.emit('done', undefined)
  expect(heard).toEqual(['once', 'later'])
})
