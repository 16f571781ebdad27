import { expect, test } from 'vitest'
import { createLogger } from '../../src/base/log.ts'
import type { AttemptEvent } from '../../src/core/restream/driver.ts'
import type { PublishEnd } from '../../src/media/publishing.ts'
import { SLUICE_FAILED } from '../../src/media/pulling.ts'
import { SourceAttempt } from '../../src/media/sourceAttempt.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { until } from '../support/until.ts'

test('a fault in one attempt to take a source kept all others from being looked after', async () => {
  const [reports, ends, lines]: [AttemptEvent[], PublishEnd[], string[]] = [[], [], []]
  let isStarted = false
  const source = {
    bytesIn: 0,
    start: async () => void (isStarted = true),
    tick: () => {
      throw new Error('a fault of ours')
    },
    end: () => undefined,
  }
  const attempt = new SourceAttempt({
    log: createLogger({ level: 'error', format: 'json', destination: { write: (line) => void lines.push(line) } }),
    name: 'camera',
    accountId: 'a1b2c3',
    dial: async () => ({ ok: true, value: { peer: '', close: () => undefined, open: async () => source } }),
    admit: async () => ({
      ok: true,
      value: {
        sink: { tracks: () => undefined, frame: () => undefined },
        received: () => undefined,
        ended: (why) => ends.push(why),
      },
    }),
    leftOut: () => undefined,
    report: (event) => reports.push(event),
  })
  await until(() => isStarted)
  attempt.tick()
  attempt.tick()
  expect(reports).toEqual([{ kind: 'lost', ...SLUICE_FAILED }])
  expect([ends, lines.length]).toEqual([['lost'], 1])
})

test('a source whose media could not be decided on stayed connected, once for each attempt while the disk was full', async () => {
  let closed = 0
  const reports: AttemptEvent[] = []
  const attempt = new SourceAttempt({
    log: createLogger({ level: 'error', format: 'json', destination: { write: () => undefined } }),
    name: 'camera',
    accountId: 'a1b2c3',
    dial: async () => ({
      ok: true,
      value: { peer: '', close: () => void (closed += 1), open: () => Promise.reject(new Error('it is not opened')) },
    }),
    admit: () => Promise.reject(new StoreUnavailable('the disk is full')),
    leftOut: () => undefined,
    report: (event) => reports.push(event),
  })
  await until(() => reports.length > 0)
  attempt.end()
  expect([reports, closed]).toEqual([[{ kind: 'lost', ...SLUICE_FAILED }], 1])
})
