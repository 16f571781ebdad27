import { isoTime } from '../../../base/time.ts'
import { type Static, Type } from 'typebox'
import { date, optional, word } from '../fields.ts'
import { CAUSES, type Cause } from './engine.ts'
import { closed } from '../../validation/closed.ts'

const by = (what: string) =>
  Type.String({ description: `Which credential, person or scheduler ${what}; empty where there is none.` })

const name = Type.String({
  description: 'What that credential or scheduler was called then; absent where it has no name.',
})

export const RunRecord = Type.Object(
  {
    id: Type.String(),
    engineId: Type.String(),
    start: date(),
    end: optional(date()),
    config: Type.Object(
      {
        ingest: Type.Object({ type: Type.String() }, closed),
        abrLadderId: Type.String(),
        drm: Type.Boolean(),
      },
      { ...closed, description: 'What the engine was made of when it was started.' },
    ),
    startType: word(CAUSES),
    startId: by('started it'),
    startName: optional(name),
    stopType: optional(word(CAUSES)),
    stopId: optional(by('stopped it')),
    stopName: optional(name),
    keptBy: optional(
      Type.String({ description: 'Who started it once more while a scheduler ran it, so that it goes on after that.' }),
    ),
  },
  { $id: 'RunRecord', ...closed, description: 'One start-to-stop period of one engine; without `end` while it runs.' },
)
export type RunRecord = Static<typeof RunRecord>

interface Run {
  readonly id: string
  readonly engineId: string
  readonly config: RunRecord['config']
  readonly start: Cause
  readonly stop: Cause | null
  readonly keptBy: string | null
  readonly startedAtMs: number
  readonly endedAtMs: number | null
}

export function toRunRecord({ id, engineId, config, start, stop, keptBy, startedAtMs, endedAtMs }: Run): RunRecord {
  return {
    id,
    engineId,
    start: isoTime(startedAtMs),
    ...(endedAtMs === null ? {} : { end: isoTime(endedAtMs) }),
    config,
    startType: start.type,
    startId: start.id,
    ...(start.name === undefined ? {} : { startName: start.name }),
    ...(stop === null ? {} : { stopType: stop.type, stopId: stop.id }),
    ...(stop?.name === undefined ? {} : { stopName: stop.name }),
    ...(keptBy === null ? {} : { keptBy }),
  }
}
