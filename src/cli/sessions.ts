import { ok } from '../base/result.ts'
import { kickSession, listSessions, type SessionEntry } from '../commands/sessions/sessions.ts'
import { ACTIONS } from '../core/sessions/sessionQuery.ts'
import { command } from './command.ts'
import { choiceOrNone, given, mostEntries, required, textFlag } from './flag.ts'
import { type Columns, listing, WATCH_FLAGS } from './listing.ts'
import { collectPages } from './pages.ts'
import { withAccount } from './session.ts'

const list = command({
  path: ['session', 'list'],
  summary: 'List active publishers and viewers, newest first',
  flags: {
    stream: textFlag('NAME', 'Only of this stream.'),
    action: choiceOrNone(ACTIONS, 'Only publishers, viewers, or previews in the dashboard.'),
    token: textFlag('ID', 'Only with this token.'),
    ip: textFlag('ADDRESS', 'Only of this address.'),
    limit: mostEntries(100, 10_000),
    ...WATCH_FLAGS,
  },
  examples: ['sluice session list --stream studio-1 --watch', 'sluice session list --action view --limit 1000 --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const { stream: streamName, action, token: tokenId, ip: address, limit } = call.flags
      const read = (page: Record<string, string>) => listSessions(ctx, ctx.sign, accountId, page)
      const found = await collectPages(read, given({ streamName, action, tokenId, address }), limit)
      return found.ok ? ok({ json: found.value, text: listing(COLUMNS, found.value) }) : found
    }),
})

const COLUMNS: Columns<SessionEntry> = {
  id: ['key', ({ id }) => id],
  action: ['text', ({ action }) => action],
  over: ['text', ({ protocol }) => protocol],
  stream: ['text', ({ streamName }) => streamName],
  address: ['key', ({ address }) => address],
  since: ['since', ({ startedOn }) => startedOn],
  in: ['bytes', ({ bytesIn }) => bytesIn],
  out: ['bytes', ({ bytesOut }) => bytesOut],
  token: ['text', ({ tokenId }) => tokenId],
  priority: ['text', ({ priority }) => priority],
  shown: ['text', ({ shown }) => (shown === undefined ? undefined : shown ? 'yes' : 'spare')],
  source: ['text', ({ sourceId }) => sourceId],
  layer: ['text', ({ layer }) => layer],
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
