import { REFUSALS } from '../../core/access/refusals.ts'
import { originKey, type RequestOrigin } from '../../core/access/requestOrigin.ts'
import type { AccessRequest, Credential, TokenSnapshot } from '../../core/access/types.ts'
import type { ActiveSession } from '../../media/sessionRegistry.ts'
import type { CachedToken } from '../../store/cached.ts'
import { type AccessAttempt, authorize } from '../access/authorize.ts'
import type { SessionContext } from '../context.ts'
import { problemOfEdit } from './revoke.ts'

/** The public text of a refusal. Null: admitted. */
type Refusal = string | null

const NOT_ITS_TOKEN = REFUSALS.invalid_token.text
const GONE: Credential = { kind: 'unknown', why: 'the token of the session is gone' }
/** Admitted addresses and origins of a session beside its first. The oldest go first. */
const ORIGINS_MAX = 64

/** `edited`: admitted with an earlier version of the token. */
interface OriginStatus {
  readonly kind: 'admitted' | 'edited' | 'new'
  readonly key: string
}

/**
 * Checks each request of a session against the rules of its token. An HLS session is a series of requests, and its URLs
 * can be copied. So if the token has rules on addresses or origins, a request from another one is another admission:
 * Sluice decides, binds and records it like the first. It opens no session of its own.
 */
export class RequestAccess {
  readonly #ctx: SessionContext
  /** By `originKey`: the token that last admitted this address and origin. */
  readonly #admitted = new WeakMap<ActiveSession, Map<string, TokenSnapshot>>()

  constructor(ctx: SessionContext) {
    this.#ctx = ctx
  }

  /** True if memory alone admits the request. Reads and writes nothing. */
  isAdmitted(sessionId: string, from: RequestOrigin): boolean {
    const entry = this.#ctx.sessions.get(sessionId)
    // The store may still refuse one that enters.
    if (entry === undefined || entry.isEntering) return false
    if (isFirst(entry, from)) return true
    const token = peekToken(this.#ctx, entry)
    return token !== undefined && this.#statusOf(token, entry, from).kind === 'admitted'
  }

  /**
   * Null: the request is admitted. Admits a new address or origin if the token allows it.
   * @throws StoreUnavailable if it cannot decide
   */
  async check(sessionId: string, from: RequestOrigin): Promise<Refusal> {
    const entry = this.#ctx.sessions.get(sessionId)
    if (entry === undefined) return NOT_ITS_TOKEN
    if (isFirst(entry, from)) return null
    const token = await currentToken(this.#ctx, entry)
    if (token === undefined) return NOT_ITS_TOKEN
    const status = this.#statusOf(token, entry, from)
    if (status.kind === 'admitted') return null
    return status.kind === 'new'
      ? this.#admit(entry, from, status.key)
      : this.#recheck(entry, from, status.key, token.snapshot)
  }

  #statusOf({ snapshot }: CachedToken, entry: ActiveSession, from: RequestOrigin): OriginStatus {
    const credential = withToken(entry.request.credential, snapshot)
    const key = originKey(credential, from)
    if (key === originKey(credential, entry.request)) return { kind: 'admitted', key }
    const admitted = this.#admitted.get(entry)?.get(key)
    if (admitted === snapshot) return { kind: 'admitted', key }
    return { kind: admitted === undefined ? 'new' : 'edited', key }
  }

  /** A new address or origin: decide as for any other viewer with this token. */
  async #admit(entry: ActiveSession, from: RequestOrigin, key: string): Promise<Refusal> {
    const { request } = entry
    const {
      decision,
      request: { credential },
    } = await authorize(this.#ctx, attemptFrom(request, from), {
      prove: async () => {
        const token = await currentToken(this.#ctx, entry)
        return token ? withToken(request.credential, token.snapshot) : GONE
      },
    })
    if (decision.allowed && 'token' in credential) this.#remember(entry, key, credential.token)
    if (decision.allowed) return null
    this.#ctx.sessions.counts.refused.add(decision.code)
    return decision.message
  }

  /** An admitted address and origin after a change of the token: check as for an open session. */
  #recheck(entry: ActiveSession, from: RequestOrigin, key: string, token: TokenSnapshot): Refusal {
    const { address, origin } = from
    const request = { ...entry.request, address, origin, country: this.#ctx.countryOf(address) }
    const problem = problemOfEdit(this.#ctx, request, token)
    if (problem !== null) return problem.message
    this.#remember(entry, key, token)
    return null
  }

  #remember(entry: ActiveSession, key: string, token: TokenSnapshot): void {
    const admitted = this.#admitted.get(entry) ?? new Map<string, TokenSnapshot>()
    this.#admitted.set(entry, admitted)
    admitted.set(key, token)
    for (const oldest of admitted.keys()) {
      if (admitted.size <= ORIGINS_MAX) return
      admitted.delete(oldest)
    }
  }
}

/** True without a decision: as at the first admission, or a stream that needs no token. */
const isFirst = ({ request, session }: ActiveSession, { address, origin }: RequestOrigin): boolean =>
  session.tokenId === null || (request.address.text === address.text && request.origin === origin)

/** The current token of a session; undefined if it was deleted or has a new value. */
async function currentToken(
  { cache }: SessionContext,
  { session, tokenHash }: ActiveSession,
): Promise<CachedToken | undefined> {
  const token = session.tokenId === null ? undefined : await cache.tokenById(session.tokenId)
  return token?.hashHex === tokenHash ? token : undefined
}

/** The same, if it is in memory and may be used. */
function peekToken({ cache }: SessionContext, { session, tokenHash }: ActiveSession): CachedToken | undefined {
  const token = session.tokenId === null ? 'unknown' : cache.peekTokenById(session.tokenId)
  return token !== 'unknown' && token.hashHex === tokenHash ? token : undefined
}

const withToken = (credential: Credential, token: TokenSnapshot): Credential =>
  credential.kind === 'selfSigned' ? { ...credential, token } : { kind: 'token', token }

const attemptFrom = (request: AccessRequest, { address, origin }: RequestOrigin): AccessAttempt => ({
  action: request.action,
  protocol: request.protocol,
  accountId: request.accountId,
  streamName: request.streamName,
  presented: null,
  address,
  origin,
})
