import { CHALLENGE_RANDOM_BYTES, challengeEnd, type ChallengeTerms, makeChallenge } from '../../core/users/challenge.ts'
import { KNOWN_BROWSER_MS } from '../../core/users/session.ts'
import { emailOf } from '../../core/users/rules.ts'
import type { CommandContext } from '../context.ts'

// The sign of a browser in which a user signed in before. It opens nothing. It gives its browser attempts to sign in of its
// own, which strangers cannot use up.

const termsOf = ({ clock, sign }: CommandContext, email: string): ChallengeTerms => ({
  purpose: `browser:${emailOf(email)}`,
  nowMs: clock.now(),
  mac: sign,
})

/** A new sign for the browser of this user, as text. */
export function signBrowser(ctx: CommandContext, email: string): string {
  const random = ctx.random.bytes(CHALLENGE_RANDOM_BYTES)
  return Buffer.from(makeChallenge(random, termsOf(ctx, email), KNOWN_BROWSER_MS)).toString('base64url')
}

/** Whether a text is a sign of ours for this user, whose time has not ended. */
export const isBrowserOf = (ctx: CommandContext, text: string, email: string): boolean =>
  challengeEnd(text, termsOf(ctx, email)) !== null
