import { ok } from '../base/result.ts'
import { PROTOCOLS } from '../core/access/protocols.ts'
import { type CheckAnswer, checkAccess } from '../commands/access/checkAccess.ts'
import { command } from './command.ts'
import { choiceOrNone, given, required, requiredChoice, textFlag, wholeFlag } from './flag.ts'
import { table } from './print.ts'
import { withAccount } from './session.ts'

const DEFAULT_PROTOCOL = { publish: 'whip', view: 'whep' } as const

/** Runs the access decision for a publisher or viewer, without binding, counting or opening anything. */
export const checkCommand = command({
  path: ['check'],
  summary: 'Check whether a client would be admitted, and why; this binds and counts nothing',
  detail: 'Exit status 0: allowed, 1: refused.',
  flags: {
    action: requiredChoice(['publish', 'view'], 'The requested action.'),
    stream: required('NAME', 'The stream, without the account id.'),
    ip: required('ADDRESS', 'The address of the client, IPv4 or IPv6.'),
    token: textFlag('TOKEN', 'The token of the client, possibly self-signed; if omitted, none.'),
    'token-id': wholeFlag('ID', 'Ask as if the value of this token were presented; instead of `--token`.', { min: 1 }),
    protocol: choiceOrNone(PROTOCOLS, 'The protocol; by default whip to publish and whep to view.'),
    origin: textFlag('ORIGIN', 'The Origin header of the client; if omitted, none.'),
    country: textFlag('CODE', 'The country of the client, instead of a lookup of its address.'),
    at: textFlag('TIME', 'The time of the request, in ISO 8601; if omitted, now.'),
  },
  examples: [
    'sluice check --action view --stream studio-1 --ip 203.0.113.7 --token "$TOKEN" --origin https://example.com',
    'sluice check --action publish --stream studio-1 --ip 203.0.113.7 --token-id 12 --protocol rtmp',
  ],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const { action, stream, protocol = DEFAULT_PROTOCOL[action], 'token-id': tokenId, ...rest } = call.flags
      const body = { action, streamName: stream, protocol, ...given({ ...rest, tokenId }) }
      const answer = await checkAccess(ctx, accountId, body)
      if (!answer.ok) return answer
      return ok({ json: answer.value, text: verdict(answer.value), exitCode: answer.value.allowed ? 0 : 1 })
    }),
})

function verdict({ allowed, code, message, trace }: CheckAnswer): string {
  const line = allowed ? 'allowed' : `refused: ${message} (${code})`
  const rows = trace.map(({ check, outcome, detail }) => [check, outcome, detail])
  return `${line}\n\n${table(['check', 'outcome', 'detail'], rows)}`
}
