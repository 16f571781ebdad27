import { expect, test } from 'vitest'
import { lazyEngine } from '../../src/media/lazyEngine.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'

const offer = { sessionId: 's', room: 'a/b', sourceId: null, offer: 'v=0', codec: null }

test('nothing is made until somebody publishes or views, and then once', async () => {
  let made = 0
  const inner = new ScriptedEngine()
  const engine = lazyEngine(async () => {
    made++
    return inner
  })
  await engine.start()
  await engine.end('s')
  expect(await engine.patch('s', 'a=x')).toMatchObject({ ok: false, status: 404 })
  expect(made).toBe(0)
  await Promise.all([engine.publish(offer), engine.view(offer)])
  expect(made).toBe(1)
  expect(inner.asked).toHaveLength(2)
})

test('who listens before the start hears what happens after it', async () => {
  const inner = new ScriptedEngine()
  const engine = lazyEngine(async () => inner)
  const heard: string[] = []
  const unwatch = engine.watch(({ kind }) => heard.push(kind))
  await engine.publish(offer)
  inner.tell({ kind: 'died', detail: 'x' })
  unwatch()
  inner.tell({ kind: 'died', detail: 'x' })
  expect(heard).toEqual(['died'])
})

test('a start that fails is tried again by the next one; after the stop there is none', async () => {
  let attempts = 0
  const engine = lazyEngine(async () => {
    if (++attempts === 1) throw new Error('no port')
    return new ScriptedEngine()
  })
  await expect(engine.publish(offer)).rejects.toThrow('no port')
  expect(await engine.publish(offer)).toMatchObject({ ok: true })
  await engine.stop()
  const fresh = lazyEngine(async () => new ScriptedEngine())
  await fresh.stop()
  await expect(fresh.publish(offer)).rejects.toThrow('stopped')
})
