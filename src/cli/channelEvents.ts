import { err, ok } from '../base/result.ts'
import { listChannelEvents } from '../commands/channels/channelEvents.ts'
import type { EventEntry } from '../core/channels/webhooks/schema.ts'
import { command } from './command.ts'
import { given, mostEntries, textFlag } from './flag.ts'
import { type Columns, listing, WATCH_FLAGS } from './listing.ts'
import { collectPages } from './pages.ts'
import { fromChannelFailure } from './refusal.ts'
import { withAccount } from './session.ts'

export const channelEventsCommand = command({
  path: ['channel', 'events'],
  summary: 'List the events of channels and their parts, newest first',
  flags: {
    since: textFlag('DATE', 'Only events from this moment on: YYYY-MM-DDTHH:mm:ss.sssZ.'),
    until: textFlag('DATE', 'Only events before this moment.'),
    type: textFlag('EVENT', 'Only these events, separated by commas.'),
    limit: mostEntries(20, 100_000),
    ...WATCH_FLAGS,
  },
  examples: ['sluice channel events', 'sluice channel events --type engine.error,engine.log.warn --limit 100 --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const { since, until, type, limit } = call.flags
      const query = given({ startDate: since, endDate: until, type })
      const found = await collectPages((page) => listChannelEvents(ctx, accountId, page), query, limit)
      if (!found.ok) return err(fromChannelFailure(found.error))
      return ok({ json: found.value, text: listing(COLUMNS, found.value) })
    }),
})

const COLUMNS: Columns<EventEntry> = {
  id: ['key', ({ id }) => id],
  time: ['time', ({ timestamp }) => timestamp],
  event: ['text', ({ type }) => type],
  about: ['text', (entry) => objectOf(entry).id],
  name: ['text', (entry) => objectOf(entry).name],
}

const objectOf = ({ requestData }: EventEntry): { id: string; name: string } =>
  (requestData as { object: { id: string; name: string } }).object
