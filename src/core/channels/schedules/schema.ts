import { type Static, Type } from 'typebox'
import { date, name, nullable, optional, word } from '../fields.ts'
import { closed } from '../../validation/closed.ts'

/** All states of hosted services. `starting` and `stopping` take no time here. */
export const SCHEDULER_STATUSES = ['idle', 'starting', 'active', 'stopping', 'terminated'] as const

const CHANNELS_MAX = 50

const day = (description: string) => Type.String({ maxLength: 10, description, examples: ['2030-03-31'] })
const time = (description: string) => Type.String({ maxLength: 5, description, examples: ['20:15'] })
const id = () => Type.String({ minLength: 1, maxLength: 64 })

const Channel = Type.Object(
  {
    channelId: id(),
    engineIds: optional(
      Type.Array(id(), { minItems: 1, maxItems: 100, description: 'Only these; absent: all of the channel.' }),
    ),
  },
  closed,
)

const targets = () => ({
  channels: optional(
    Type.Array(Channel, { minItems: 1, maxItems: CHANNELS_MAX, description: 'What is started and stopped.' }),
  ),
  channelIds: optional(
    Type.Array(id(), {
      minItems: 1,
      maxItems: CHANNELS_MAX,
      description: 'Short for `channels` with all engines. Deprecated.',
    }),
  ),
})

const ends = () => ({
  endDate: nullable(day('Once: the day of the end. With a recurrence: the last day on which it may begin.')),
  endTime: nullable(time('When it ends, on the same day or past midnight; absent: when it is stopped by hand.')),
  recurrence: nullable(
    Type.String({
      maxLength: 500,
      description: 'RFC 5545: FREQ=DAILY, WEEKLY or MONTHLY with INTERVAL, BYDAY, BYMONTHDAY, COUNT, UNTIL, WKST.',
      examples: ['RRULE:FREQ=WEEKLY;BYDAY=MO,WE'],
    }),
  ),
})

const zone = () =>
  optional(
    Type.String({ maxLength: 64, description: 'Name in the IANA database. Default UTC.', examples: ['Europe/Vienna'] }),
  )

const enabled = () => optional(Type.Boolean({ description: 'false: what comes due is skipped. Default true.' }))

export const CreateScheduler = Type.Object(
  {
    name: name(),
    enabled: enabled(),
    startDate: day('On the wall of the time zone; in the future.'),
    startTime: time('On the wall of the time zone.'),
    ...ends(),
    timeZone: zone(),
    ...targets(),
  },
  {
    $id: 'CreateScheduler',
    ...closed,
    examples: [
      {
        name: 'Evening show',
        startDate: '2030-03-31',
        startTime: '20:15',
        endTime: '22:00',
        timeZone: 'Europe/Vienna',
        channels: [{ channelId: 'ch_1BvTL3PCGW4dXdKwCqFkRe' }],
      },
    ],
  },
)
export type CreateScheduler = Static<typeof CreateScheduler>

export const UpdateScheduler = Type.Object(
  {
    name: optional(name()),
    enabled: enabled(),
    startDate: optional(day('Of the first occurrence.')),
    startTime: optional(time('Of every occurrence.')),
    ...ends(),
    timeZone: zone(),
    ...targets(),
  },
  {
    $id: 'UpdateScheduler',
    ...closed,
    description: 'While it is active, only name, enabled, end and recurrence can change.',
  },
)
export type UpdateScheduler = Static<typeof UpdateScheduler>

export const SchedulerRecord = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    enabled: Type.Boolean(),
    status: word(SCHEDULER_STATUSES),
    startDate: Type.String(),
    startTime: Type.String(),
    endDate: optional(Type.String()),
    endTime: optional(Type.String()),
    recurrence: optional(Type.String()),
    timeZone: Type.String(),
    channels: Type.Array(Channel),
    channelIds: Type.Array(Type.String()),
    nextStart: optional(Type.String({ format: 'date-time', description: 'When it begins next.' })),
    skipped: optional(
      Type.Array(Type.Object({ start: date(), end: optional(date()), reason: Type.String() }), {
        description: 'The last skipped occurrences, newest first; only when a single scheduler is read.',
      }),
    ),
    createdAt: date(),
    updatedAt: date(),
  },
  { $id: 'Scheduler', ...closed },
)
export type SchedulerRecord = Static<typeof SchedulerRecord>
