import { sha256 } from '../../base/crypto.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { failure, notFound, type Failure } from '../../core/errors.ts'
import {
  challengeEnd,
  CHALLENGE_RANDOM_BYTES,
  type ChallengePurpose,
  type ChallengeTerms,
  makeChallenge,
} from '../../core/users/challenge.ts'
import { Conflict, type Passkey, type Tx, type User } from '../../store/store.ts'
import { audit, type Actor, type SessionContext } from '../context.ts'
import { beginSession, type FreshSession, type SignedIn, type Visitor } from './sessions.ts'
import * as webAuthn from './webAuthn.ts'

/** Passkeys of one user. */
const PASSKEYS_MAX = 20

const WRONG = failure('unauthorized', 'Unauthorized: this passkey does not open the dashboard, or it took too long.')
const NOT_ADDED = failure('bad_request', 'This passkey was not added: try again, and confirm it within 5 minutes')
const NOT_ASKED_FOR = failure('bad_request', `This passkey was not added: ${webAuthn.ATTESTED}`)

const termsOf = (ctx: SessionContext, purpose: ChallengePurpose): ChallengeTerms => ({
  purpose,
  nowMs: ctx.clock.now(),
  mac: ctx.sign,
})

const newChallenge = (ctx: SessionContext, purpose: ChallengePurpose) =>
  makeChallenge(ctx.random.bytes(CHALLENGE_RANDOM_BYTES), termsOf(ctx, purpose))

/** The options of `navigator.credentials.create`. A passkey is added only with these, so ask for a confirmation first. */
export async function passkeyOptions(ctx: SessionContext, user: SignedIn, site: webAuthn.Site): Promise<object> {
  const known = await ctx.store.read.passkeys.list(user.id)
  return webAuthn.creationOptions(site, user, known, newChallenge(ctx, `add:${user.id}`))
}

/** Adds a passkey that the user's browser has made. */
export async function addPasskey(
  ctx: SessionContext,
  actor: Actor,
  user: SignedIn,
  input: { name: string; response: unknown; site: webAuthn.Site },
): Promise<Result<Passkey, Failure>> {
  const terms = termsOf(ctx, `add:${user.id}`)
  const made = await webAuthn.readCreated(input.response, input.site, (text) => challengeEnd(text, terms) !== null)
  if (!made.ok) return refused(ctx, made.error, made.error === webAuthn.ATTESTED ? NOT_ASKED_FOR : NOT_ADDED)
  const { challenge, ...key } = made.value
  const passkey = {
    ...key,
    userId: user.id,
    name: input.name,
    rpId: input.site.rpId,
    createdAtMs: terms.nowMs,
    usedAtMs: null,
  }
  try {
    return await ctx.store.transaction(async (tx): Promise<Result<Passkey, Failure>> => {
      if (!(await tx.users.lock(user.accountId, user.id))) return err(NOT_ADDED)
      if (!(await spend(tx, challenge, terms))) return err(NOT_ADDED)
      if ((await tx.passkeys.list(user.id)).length >= PASSKEYS_MAX) return err(TOO_MANY)
      await tx.passkeys.insert(passkey)
      const after = { name: input.name }
      await audit(tx, actor, terms.nowMs, { action: 'passkey.create', subject: String(user.id), after })
      return ok(passkey)
    })
  } catch (error) {
    if (error instanceof Conflict) return err(failure('conflict', 'This passkey was added before'))
    throw error
  }
}

const TOO_MANY = failure('conflict', `You have ${PASSKEYS_MAX} passkeys, the most: delete one first`)

/** A challenge counts once, at every node. */
async function spend(tx: Tx, challenge: string, terms: ChallengeTerms): Promise<boolean> {
  const endMs = challengeEnd(challenge, terms)
  return endMs !== null && tx.passkeys.spend(sha256(challenge), endMs)
}

/** The options of `navigator.credentials.get`. They name no user, so that they reveal none. */
export const signInOptions = (ctx: SessionContext, site: webAuthn.Site): Promise<object> =>
  webAuthn.requestOptions(site, newChallenge(ctx, 'sign_in'))

/** Signs in the user whose passkey has signed one of our challenges on one of our pages. */
export const signInWithPasskey = (
  ctx: SessionContext,
  input: PasskeyUse,
  visitor: Visitor,
): Promise<Result<FreshSession, Failure>> =>
  withPasskey(ctx, input, async (tx, user) => ok(await beginSession(ctx, tx, user, visitor)))

/** Whether one of the passkeys of this user has signed one of our challenges to sign in. */
export const confirmByPasskey = (
  ctx: SessionContext,
  { id }: SignedIn,
  input: PasskeyUse,
): Promise<Result<true, Failure>> =>
  withPasskey(ctx, input, async (_tx, user) => (user.id === id ? ok(true) : err(NOT_YOURS)))

const NOT_YOURS = failure('forbidden', 'Forbidden: this passkey is of another user')

interface PasskeyUse {
  readonly response: unknown
  readonly site: webAuthn.Site
}

/** Does the work for the user whose passkey has signed a challenge to sign in, once for each challenge. */
async function withPasskey<T>(
  ctx: SessionContext,
  input: PasskeyUse,
  work: (tx: Tx, user: User) => Promise<Result<T, Failure>>,
): Promise<Result<T, Failure>> {
  const terms = termsOf(ctx, 'sign_in')
  const id = webAuthn.idOf(input.response)
  const passkey = id === null ? undefined : await ctx.store.read.passkeys.get(id)
  if (!passkey) return err(WRONG)
  const isOurs = (text: string) => challengeEnd(text, terms) !== null
  const used = await webAuthn.readUsed(input.response, passkey, input.site, isOurs)
  if (!used.ok) return refused(ctx, used.error, WRONG)
  return ctx.store.transaction(async (tx) => {
    const user = await tx.users.lockById(passkey.userId)
    const count = { from: passkey.signCount, to: used.value.signCount }
    const isFirst = user !== undefined && (await spend(tx, used.value.challenge, terms))
    if (!isFirst || !(await tx.passkeys.countUse(passkey.id, count, terms.nowMs))) return err(WRONG)
    return work(tx, user)
  })
}

/** The reason is for the operator: it says nothing that helps the person. */
function refused(ctx: SessionContext, reason: string, refusal: Failure): { ok: false; error: Failure } {
  ctx.sampled.refusals.info({ reason }, 'a passkey was refused')
  return err(refusal)
}

export const listPasskeys = (ctx: SessionContext, { id }: SignedIn): Promise<Passkey[]> =>
  ctx.store.read.passkeys.list(id)

export async function deletePasskey(
  ctx: SessionContext,
  actor: Actor,
  user: SignedIn,
  id: string,
): Promise<Result<true, Failure>> {
  return ctx.store.transaction(async (tx) => {
    const none = notFound('passkeyId', `You have no passkey with id: ${id.slice(0, 32)}`)
    const before = (await tx.passkeys.list(user.id)).find((passkey) => passkey.id === id)
    if (!before) return err(none)
    if (!(await tx.passkeys.delete(user.id, id))) return err(none)
    const change = { subject: String(user.id), before: { name: before.name } }
    await audit(tx, actor, ctx.clock.now(), { action: 'passkey.delete', ...change })
    return ok(true)
  })
}
