import { ok } from '../base/result.ts'
import { type AccessLogEntry, recentDecisions } from '../commands/access/accessLog.ts'
import { command } from './command.ts'
import { textFlag, wholeOr } from './flag.ts'
import { table } from './print.ts'
import { withAccount } from './session.ts'

const log = command({
  path: ['access', 'log'],
  summary: 'List who was refused and why, newest first',
  detail:
    'A refusal that came again within a minute is one line, with the times of the first and the last. Admissions are ' +
    'listed too where access.log.admissionRate keeps them.',
  flags: {
    limit: wholeOr(100, 'N', 'How many of the latest.', { min: 1, max: 10_000 }),
    stream: textFlag('NAME', 'Of this stream only.'),
    token: textFlag('ID', 'With this token only.'),
    ip: textFlag('ADDRESS', 'From this address only.'),
    code: textFlag('CODE', 'For this reason only, as docs/reference/errors.md names it.'),
  },
  examples: ['sluice access log', 'sluice access log --stream studio-1 --code token_expired --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const { limit, stream: streamName, token: tokenId, ip: address, code } = call.flags
      const asked = Object.entries({ streamName, tokenId, address, code }).filter(([, value]) => value !== undefined)
      const found = await recentDecisions(ctx, accountId, Object.fromEntries(asked), limit)
      return found.ok ? ok({ json: found.value, text: logTable(found.value) }) : found
    }),
})

const logTable = (entries: readonly AccessLogEntry[]): string =>
  table(
    ['first', 'last', 'times', 'action', 'over', 'stream', 'token', 'address', 'why'],
    entries.map((entry) => [
      entry.at,
      entry.lastAt,
      String(entry.count),
      entry.action,
      entry.protocol,
      entry.streamName,
      String(entry.tokenId ?? ''),
      entry.address,
      entry.code ?? 'allowed',
    ]),
  )

export const accessCommands = [log]
