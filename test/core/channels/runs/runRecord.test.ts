import { expect, test } from 'vitest'
import { toRunRecord } from '../../../../src/core/channels/runs/runRecord.ts'

const RUN = {
  id: 'run_1',
  engineId: 'en_1',
  config: { ingest: { type: 'rtmp-push' }, abrLadderId: 'abr_1', drm: false },
  start: { type: 'api', id: 'secret:1' },
  stop: null,
  keptBy: null,
  startedAtMs: 0,
  endedAtMs: null,
} as const

test('a run under way has no end, and names of what started it only where there are any', () => {
  const { id, engineId, config } = RUN
  const record = { id, engineId, config, start: '1970-01-01T00:00:00.000Z', startType: 'api', startId: 'secret:1' }
  expect(toRunRecord(RUN)).toEqual(record)
  expect(toRunRecord({ ...RUN, start: { ...RUN.start, name: 'CI' }, keptBy: 'user:2' })).toEqual({
    ...record,
    startName: 'CI',
    keptBy: 'user:2',
  })
})

test('a run that is over says when, and what stopped it', () => {
  const stop = { type: 'scheduler', id: 'sch_1' } as const
  const over = toRunRecord({ ...RUN, stop, endedAtMs: 1 })
  expect(over).toMatchObject({ end: '1970-01-01T00:00:00.001Z', stopType: 'scheduler', stopId: 'sch_1' })
  expect(over).not.toHaveProperty('stopName')
  expect(toRunRecord({ ...RUN, stop: { ...stop, name: 'Nightly' } })).toMatchObject({ stopName: 'Nightly' })
})
