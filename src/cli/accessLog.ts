import { ok } from '../base/result.ts'
import { type AccessLogEntry, recentDecisions } from '../commands/access/accessLog.ts'
import { command } from './command.ts'
import { given, mostEntries, textFlag } from './flag.ts'
import { type Columns, listing, WATCH_FLAGS } from './listing.ts'
import { withAccount } from './session.ts'

const log = command({
  path: ['access', 'log'],
  summary: 'List refused clients with the reason, newest first',
  detail:
    'Repeats of a refusal within a minute share one line, with the times of the first and the last; on a terminal, how long ' +
    'they are ago. The list includes admissions if `sluice account update --log-admissions on` or access.log.admissionRate has them recorded.',
  flags: {
    limit: mostEntries(100, 10_000),
    stream: textFlag('NAME', 'Only this stream.'),
    token: textFlag('ID', 'Only this token.'),
    ip: textFlag('ADDRESS', 'Only this address.'),
    code: textFlag('CODE', 'Only this error code; see docs/reference/errors.md.'),
    ...WATCH_FLAGS,
  },
  examples: ['sluice access log', 'sluice access log --stream studio-1 --code token_expired --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const { limit, stream: streamName, token: tokenId, ip: address, code } = call.flags
      const found = await recentDecisions(ctx, accountId, given({ streamName, tokenId, address, code }), limit)
      return found.ok ? ok({ json: found.value, text: listing(COLUMNS, found.value) }) : found
    }),
})

const COLUMNS: Columns<AccessLogEntry> = {
  first: ['since', ({ at }) => at],
  last: ['since', ({ lastAt }) => lastAt],
  times: ['text', ({ count }) => count],
  action: ['text', ({ action }) => action],
  over: ['text', ({ protocol }) => protocol],
  stream: ['text', ({ streamName }) => streamName],
  token: ['text', ({ tokenId }) => tokenId],
  address: ['key', ({ address }) => address],
  why: ['key', ({ code }) => code ?? 'allowed'],
  message: ['sentence', ({ message }) => message],
}

export const accessCommands = [log]
