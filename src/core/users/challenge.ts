import { sameBytes } from '../pages/bytes.ts'
import type { Mac } from '../pages/cursor.ts'
import { decodeBase64url } from '../validation/base64url.ts'

/**
 * The challenge of a passkey: random bytes, the end of its time, and a tag. Sluice knows its own challenges by the tag, so
 * that a visitor who only asks for them fills no table. Who uses one is recorded.
 */

/** A person has to find the key and put a finger on it. */
const CHALLENGE_MS = 5 * 60_000

export const CHALLENGE_RANDOM_BYTES = 16
const TIME_BYTES = 8
const TAG_BYTES = 16
const SIGNED_BYTES = CHALLENGE_RANDOM_BYTES + TIME_BYTES

/**
 * What signed bytes of this form are for: to sign in, to add a passkey of one user, or to tell a browser in which the user of
 * this e-mail address signed in before.
 */
export type ChallengePurpose = 'sign_in' | `add:${number}` | `browser:${string}`

export interface ChallengeTerms {
  readonly purpose: ChallengePurpose
  readonly nowMs: number
  readonly mac: Mac
}

export function makeChallenge(
  random: Uint8Array,
  { purpose, nowMs, mac }: ChallengeTerms,
  lifetimeMs = CHALLENGE_MS,
): Uint8Array<ArrayBuffer> {
  const challenge = new Uint8Array(SIGNED_BYTES + TAG_BYTES)
  challenge.set(random.subarray(0, CHALLENGE_RANDOM_BYTES))
  new DataView(challenge.buffer).setBigUint64(CHALLENGE_RANDOM_BYTES, BigInt(nowMs + lifetimeMs))
  challenge.set(tagOf(challenge.subarray(0, SIGNED_BYTES), purpose, mac), SIGNED_BYTES)
  return challenge
}

/** The time at which a challenge of ours ends, if it is for this purpose and that time has not come; else null. */
export function challengeEnd(text: string, { purpose, nowMs, mac }: ChallengeTerms): number | null {
  const challenge = decodeBase64url(text)
  if (challenge?.length !== SIGNED_BYTES + TAG_BYTES) return null
  const isOurs = sameBytes(challenge.subarray(SIGNED_BYTES), tagOf(challenge.subarray(0, SIGNED_BYTES), purpose, mac))
  const endMs = Number(new DataView(challenge.buffer).getBigUint64(CHALLENGE_RANDOM_BYTES))
  return isOurs && nowMs < endMs ? endMs : null
}

/** The first byte keeps it apart from what else is signed with this key: cursors begin with 1 and 2. */
function tagOf(signed: Uint8Array, purpose: ChallengePurpose, mac: Mac): Uint8Array {
  const name = new TextEncoder().encode(purpose)
  const data = new Uint8Array(1 + SIGNED_BYTES + name.length)
  data[0] = 3
  data.set(signed, 1)
  data.set(name, 1 + SIGNED_BYTES)
  return mac(data).subarray(0, TAG_BYTES)
}
