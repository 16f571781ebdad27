import { ok } from '../base/result.ts'
import { kickSession, recentSessions, type SessionEntry } from '../commands/sessions/sessions.ts'
import { command } from './command.ts'
import { mostEntries, required } from './flag.ts'
import { type Columns, listing, WATCH_FLAGS } from './listing.ts'
import { withAccount } from './session.ts'

const list = command({
  path: ['session', 'list'],
  summary: 'List active publishers and viewers, newest first',
  flags: { limit: mostEntries(100, 10_000), ...WATCH_FLAGS },
  examples: ['sluice session list --watch', 'sluice session list --limit 1000 --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const sessions = await recentSessions(ctx, accountId, call.flags.limit)
      return ok({ json: sessions, text: listing(COLUMNS, sessions) })
    }),
})

const COLUMNS: Columns<SessionEntry> = {
  id: ['key', ({ id }) => id],
  action: ['text', ({ action }) => action],
  over: ['text', ({ protocol }) => protocol],
  stream: ['text', ({ streamName }) => streamName],
  address: ['text', ({ address }) => address],
  since: ['since', ({ startedOn }) => startedOn],
  in: ['bytes', ({ bytesIn }) => bytesIn],
  out: ['bytes', ({ bytesOut }) => bytesOut],
  token: ['text', ({ tokenId }) => tokenId],
  priority: ['text', ({ priority }) => priority],
  shown: ['text', ({ shown }) => (shown === undefined ? undefined : shown ? 'yes' : 'spare')],
}

const end = command({
  path: ['session', 'end'],
  summary: 'End a session; its server does so within a second',
  args: { id: required('ID', 'The id of the session, as `sluice session list` shows it.') },
  examples: ['sluice session end 1Cv2nDq8PzUeZ5oYyZ3kQw', 'sluice session end 1Cv2nDq8PzUeZ5oYyZ3kQw --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const done = await kickSession(ctx, actor, call.args.id)
      return done.ok ? ok({ json: true, text: '', hint: `Session ${call.args.id} is being ended.` }) : done
    }),
})

export const sessionCommands = [list, end]
