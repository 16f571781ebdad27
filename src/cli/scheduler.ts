import { err, ok, type Result } from '../base/result.ts'
import {
  createScheduler,
  deleteScheduler,
  listSchedulers,
  readScheduler,
  startScheduler,
  stopScheduler,
  updateScheduler,
} from '../commands/channels/schedules/schedulers.ts'
import type { ChannelFailure } from '../core/channels/errors.ts'
import type { SchedulerRecord } from '../core/channels/schedules/schema.ts'
import { type CliCommand, command } from './command.ts'
import { given, mostEntries, required, textFlag, texts } from './flag.ts'
import { type Columns, listing, WATCH_FLAGS } from './listing.ts'
import { collectPages } from './pages.ts'
import { details } from './print.ts'
import { fromChannelFailure } from './refusal.ts'
import { type AccountScope, withAccount } from './session.ts'

const ID = required('ID', 'The id of the scheduler, as `sluice scheduler list` shows it.')
const EXAMPLE = 'sc_1BvTL3PCGW4dXdKwCqFkRe'

const COLUMNS: Columns<SchedulerRecord> = {
  id: ['key', ({ id }) => id],
  status: ['text', ({ enabled, status }) => (enabled ? status : `${status}, disabled`)],
  name: ['text', ({ name }) => name],
  next: ['time', ({ nextStart }) => nextStart],
  recurrence: ['text', ({ recurrence }) => recurrence],
  channels: ['text', ({ channels }) => channels.map(({ channelId }) => channelId).join(', ')],
}

const list = command({
  path: ['scheduler', 'list'],
  summary: 'List schedulers, newest first, with the time in UTC when each begins next',
  flags: {
    channel: textFlag('ID', 'Only those that start this channel.'),
    status: textFlag('STATUS', 'Only those with one of these statuses, separated by commas.'),
    limit: mostEntries(100, 100_000),
    ...WATCH_FLAGS,
  },
  examples: ['sluice scheduler list', 'sluice scheduler list --status active --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const { channel: channelId, status, limit } = call.flags
      const found = await collectPages(
        (page) => listSchedulers(ctx, accountId, page),
        given({ channelId, status }),
        limit,
      )
      if (!found.ok) return err(fromChannelFailure(found.error))
      return ok({ json: found.value, text: listing(COLUMNS, found.value) })
    }),
})

const show = command({
  path: ['scheduler', 'show'],
  summary: 'Show a scheduler, with what it skipped and why',
  args: { id: ID },
  examples: [`sluice scheduler show ${EXAMPLE}`, 'sluice scheduler show $SCHEDULER --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const found = await readScheduler(ctx, accountId, call.args.id)
      return found.ok ? ok({ json: found.value, text: details(found.value) }) : err(fromChannelFailure(found.error))
    }),
})

const create = command({
  path: ['scheduler', 'create'],
  summary: 'Create a scheduler that starts and stops channels, and print only its id',
  detail:
    'docs/reference/schedulers.md explains dates, recurrences and time zones. The API under `/v2` names single engines, too.',
  flags: {
    name: required('NAME', 'A display name.'),
    channel: texts('ID', 'A channel that it starts; may be repeated.'),
    date: required('DATE', 'The day of the first start: YYYY-MM-DD.'),
    time: required('TIME', 'When it starts: HH:MM.'),
    'end-time': textFlag('TIME', 'When it stops: HH:MM. Without it, it is stopped by hand.'),
    'end-date': textFlag('DATE', 'Once: the day of the end. With a recurrence: the last day on which it may start.'),
    recurrence: textFlag('RRULE', 'A rule of RFC 5545, such as RRULE:FREQ=WEEKLY;BYDAY=MO,WE.'),
    'time-zone': textFlag('ZONE', 'The zone of dates and times, such as Europe/Vienna. Default UTC.'),
  },
  examples: [
    'sluice scheduler create --name Evening --channel $CHANNEL --date 2030-03-31 --time 20:15 --end-time 22:00 --time-zone Europe/Vienna',
    'sluice scheduler create --name Mass --channel $CHANNEL --date 2030-03-31 --time 09:00 --end-time 10:00 --recurrence FREQ=WEEKLY',
  ],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const { name, channel, date: startDate, time: startTime, recurrence, ...rest } = call.flags
      const times = { endTime: rest['end-time'], endDate: rest['end-date'], timeZone: rest['time-zone'], recurrence }
      const channels = channel.length === 0 ? {} : { channels: channel.map((channelId) => ({ channelId })) }
      const made = await createScheduler(ctx, actor, { name, startDate, startTime, ...given(times), ...channels })
      if (!made.ok) return err(fromChannelFailure(made.error))
      const { id, nextStart } = made.value
      return ok({
        json: made.value,
        text: id,
        ...(nextStart === undefined ? {} : { hint: `It starts at ${nextStart}.` }),
      })
    }),
})

type Act = (scope: AccountScope, id: string) => Promise<Result<unknown, ChannelFailure>>

/** A command that changes a scheduler. @param done what became of it */
const changing = (verb: string, summary: string, done: string, act: Act): CliCommand =>
  command({
    path: ['scheduler', verb],
    summary,
    args: { id: ID },
    examples: [`sluice scheduler ${verb} ${EXAMPLE}`, `sluice scheduler ${verb} $SCHEDULER --account a1b2c3`],
    run: (call) =>
      withAccount(call, async (scope) => {
        const { id } = call.args
        const changed = await act(scope, id)
        if (!changed.ok) return err(fromChannelFailure(changed.error))
        return ok({ json: true, text: '', hint: `Scheduler ${id} ${done}.` })
      }),
  })

const switched =
  (enabled: boolean): Act =>
  ({ ctx, actor }, id) =>
    updateScheduler(ctx, actor, id, { enabled })

export const schedulerCommands = [
  list,
  show,
  create,
  changing('enable', 'Let a disabled scheduler start its channels again', 'is enabled', switched(true)),
  changing('disable', 'Skip what comes due until the scheduler is enabled', 'is disabled', switched(false)),
  changing('start', 'Begin the next occurrence now', 'begins its next occurrence', ({ ctx, actor }, id) =>
    startScheduler(ctx, actor, id),
  ),
  changing('stop', 'End what is under way', 'ends what is under way', ({ ctx, actor }, id) =>
    stopScheduler(ctx, actor, id),
  ),
  changing('delete', 'Delete a scheduler that is not active', 'was deleted', ({ ctx, actor }, id) =>
    deleteScheduler(ctx, actor, id),
  ),
]
