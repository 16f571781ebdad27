import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { ok } from '../../../src/base/result.ts'
import { systemClock } from '../../../src/base/clock.ts'
import type { DialSource, SourceOptions } from '../../../src/media/pulling.ts'
import { PullTranscode, type PullTranscodeParts } from '../../../src/media/transcoder/pullTranscode.ts'
import { silentLog } from '../../support/log.ts'

const ATTEMPTS = 5

test('a source that is lost again and again leaves nothing behind at the signal of its engine', async () => {
  const stopping = new AbortController()
  const left: number[] = []
  const dial: DialSource = async () => {
    left.push(getEventListeners(stopping.signal, 'abort').length)
    if (left.length > ATTEMPTS) stopping.abort()
    return ok({ peer: '192.0.2.1', close: () => undefined, open: async (options) => losing(options) })
  }
  const parts = {
    source: { kind: 'pull', ingestId: 'in_1', url: 'rtmp://192.0.2.1/app/stream' },
    name: 'engine',
    signal: stopping.signal,
    encoding: { log: () => undefined, pauseUntilMs: async () => undefined, broken: () => undefined },
    pushed: { done: Promise.resolve() },
    tools: { clock: systemClock, log: silentLog, dial },
  } as unknown as PullTranscodeParts
  await new PullTranscode(parts).run()
  expect(left).toEqual(Array.from({ length: ATTEMPTS + 1 }, () => 0))
})

/** A source that is lost as soon as it starts. */
const losing = ({ ended }: SourceOptions) => ({
  bytesIn: 0,
  start: async () => ended({ kind: 'lost', message: 'The source is gone' }),
  tick: () => undefined,
  end: () => undefined,
})
