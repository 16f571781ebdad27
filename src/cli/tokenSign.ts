import { err, ok } from '../base/result.ts'
import { signingParent, signOptionsOf, trySigning } from '../commands/tokens/signToken.ts'
import { invalid } from '../core/errors.ts'
import { readSign } from '../core/tokens/sign.ts'
import { ALGORITHMS, type SignOptions } from '../sign.ts'
import { type Call, command, type CommandResult } from './command.ts'
import { choiceFlag, given, id, required, textFlag, texts, toggleFlag, wholeFlag, wholeOr } from './flag.ts'
import { usage } from './refusal.ts'
import { withAccount } from './session.ts'

const KEY_MAX_BYTES = 1024

/** Signs on this machine: with the parent from the store, or with its value and without a store. */
export const signCommand = command({
  path: ['token', 'sign'],
  summary: 'Sign a short-lived subscribe token with its parent and print only the JWT',
  detail:
    'The parent is a subscribe token. The signed token can restrict it further, never extend it, and ends with it.',
  flags: {
    'parent-id': id('ID', 'The id of the parent token.'),
    stream: required('NAME', 'The stream that the token admits to.'),
    'expires-in': wholeOr(60, 'SECONDS', 'How many seconds the token is valid.', { min: 1, max: 2_147_483_647 }),
    origin: texts('ORIGIN', 'An allowed origin, in addition to the rules of the parent.'),
    ip: texts('ADDRESS', 'An allowed IPv4 address or CIDR block, in addition to the rules of the parent.'),
    'tracking-id': textFlag('ID', 'Count the bytes of the viewer under this id.'),
    'max-viewers': wholeFlag('N', 'The most concurrent viewers with that tracking id.', { min: 1, max: 1_000_000 }),
    'end-at-expiry': toggleFlag('The session ends when the signed token expires; by default the parent decides.'),
    jti: textFlag('JTI', 'An id by which `sluice token revoke` can refuse it.'),
    alg: choiceFlag(ALGORITHMS, 'HS256', 'The algorithm.'),
    key: textFlag('VALUE', "The parent's value, instead of reading it from the store; - reads standard input."),
  },
  examples: [
    'sluice token sign --parent-id 8 --stream studio-1 --expires-in 300',
    'sluice token sign --parent-id 8 --stream studio-1 --ip 203.0.113.7 --key - < parent.txt',
  ],
  run: async (call) => {
    const parent = await parentFor(call, call.flags['parent-id'], call.flags.key)
    if (!parent.ok) return parent
    const { 'parent-id': tokenId, 'tracking-id': trackingId, 'max-viewers': maxViewers, jti } = call.flags
    // A rule that the server does not understand would make a token that admits no client.
    const read = readSign({
      streamName: call.flags.stream,
      expiresInSeconds: call.flags['expires-in'],
      allowedOrigins: call.flags.origin,
      allowedIpAddresses: call.flags.ip,
      endAtExpiry: call.flags['end-at-expiry'],
      ...(trackingId === undefined ? {} : { tracking: { trackingId } }),
      ...given({ maxViewers, jti }),
    })
    if (!read.ok) return err(invalid(read.error))
    const { alg: algorithm } = call.flags
    const signed = trySigning({ ...signOptionsOf(read.value), ...parent.value, tokenId, algorithm })
    return signed.ok ? ok({ json: { token: signed.value }, text: signed.value }) : signed
  },
})

async function parentFor(
  call: Call,
  parentId: number,
  given: string | undefined,
): CommandResult<Pick<SignOptions, 'token' | 'now'>> {
  if (given === '-') {
    const input = await call.host.readStdin(KEY_MAX_BYTES)
    return input.ok ? ok({ token: input.value.trim() }) : err(usage(`--key: ${input.error}`))
  }
  if (given !== undefined) return ok({ token: given })
  return withAccount(call, ({ ctx, accountId }) => signingParent(ctx, accountId, parentId))
}
