import { ok } from '../base/result.ts'
import { type CheckAnswer, checkAccess } from '../commands/access/checkAccess.ts'
import { command } from './command.ts'
import { choiceOrNone, required, requiredChoice, textFlag } from './flag.ts'
import { table } from './print.ts'
import { withAccount } from './session.ts'

const DEFAULT_PROTOCOL = { publish: 'whip', view: 'whep' } as const

/** Asks the question that a publisher or viewer would raise, without binding, counting or opening anything. */
export const checkCommand = command({
  path: ['check'],
  summary: 'Ask whether somebody would be admitted, and why or why not; nothing is bound or counted',
  detail: 'Exit status 0: allowed, 1: refused.',
  flags: {
    action: requiredChoice(['publish', 'view'], 'What they want to do.'),
    stream: required('NAME', 'The stream, without the account id.'),
    ip: required('ADDRESS', 'The address that they come from, IPv4 or IPv6.'),
    token: textFlag('TOKEN', 'The token that they present, or a self-signed one; without it, none.'),
    protocol: choiceOrNone(['whip', 'rtmp', 'whep', 'hls'], 'How; whip when they publish, whep when they view.'),
    origin: textFlag('ORIGIN', 'The Origin header that they send; without it, none.'),
    country: textFlag('CODE', 'Their country, instead of looking the address up.'),
    at: textFlag('TIME', 'When, as an ISO 8601 time; without it, now.'),
  },
  examples: [
    'sluice check --action view --stream studio-1 --ip 203.0.113.7 --token "$TOKEN" --origin https://example.com',
    'sluice check --action publish --stream studio-1 --ip 203.0.113.7 --token "$TOKEN" --protocol rtmp',
  ],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const { action, stream, protocol = DEFAULT_PROTOCOL[action], ...rest } = call.flags
      const asked = Object.entries(rest).filter(([, value]) => value !== undefined)
      const body = { action, streamName: stream, protocol, ...Object.fromEntries(asked) }
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
