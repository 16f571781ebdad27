import { ok } from '../base/result.ts'
import { kickSession, recentSessions, type SessionEntry, stopStream } from '../commands/sessions/sessions.ts'
import { command } from './command.ts'
import { required, wholeOr } from './flag.ts'
import { table } from './print.ts'
import { withAccount } from './session.ts'

const list = command({
  path: ['session', 'list'],
  summary: 'List active publishers and viewers, newest first',
  flags: { limit: wholeOr(100, 'N', 'The most entries to list.', { min: 1, max: 10_000 }) },
  examples: ['sluice session list', 'sluice session list --limit 1000 --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const sessions = await recentSessions(ctx, accountId, call.flags.limit)
      return ok({ json: sessions, text: sessionTable(sessions) })
    }),
})

const sessionTable = (sessions: readonly SessionEntry[]): string =>
  table(
    ['id', 'action', 'over', 'stream', 'token', 'address', 'since', 'in', 'out'],
    sessions.map((one) => [
      one.id,
      one.action,
      one.protocol,
      one.streamName,
      String(one.tokenId ?? ''),
      one.address,
      one.startedOn,
      String(one.bytesIn),
      String(one.bytesOut),
    ]),
  )

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

const stop = command({
  path: ['stream', 'stop'],
  summary: 'End all publishers and viewers of a stream',
  args: { stream: required('NAME', 'The name of the stream.') },
  examples: ['sluice stream stop show', 'sluice stream stop show --account a1b2c3'],
  run: (call) =>
    withAccount(call, async ({ ctx, actor, accountId }) => {
      const done = await stopStream(ctx, actor, { streamId: `${accountId}/${call.args.stream}` })
      if (!done.ok) return done
      const wasIdle = done.value.stoppingLevel === 'None'
      return ok({
        json: done.value,
        text: '',
        hint: wasIdle ? 'The stream had no publishers or viewers.' : 'The stream is being stopped.',
      })
    }),
})

export const sessionCommands = [list, end, stop]
