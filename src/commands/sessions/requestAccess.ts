import type { Address } from '../../core/access/address.ts'
import { type Place, placeKey } from '../../core/access/place.ts'
import { REFUSALS } from '../../core/access/refusals.ts'
import type { AccessRequest, Credential, TokenSnapshot } from '../../core/access/types.ts'
import type { ActiveSession } from '../../media/sessionRegistry.ts'
import type { CachedToken } from '../../store/cached.ts'
import { type AccessAttempt, authorize } from '../access/authorize.ts'
import type { Context } from '../context.ts'
import { problemOfEdit } from './revoke.ts'

/** Where a request of a session comes from. */
export interface RequestPlace extends Place {
  readonly address: Address
}

/** Why a request of a session is refused: the public text. Null: it is not. */
type Refusal = string | null

const NOT_ITS_TOKEN = REFUSALS.invalid_token.text
const GONE: Credential = { kind: 'unknown', why: 'the token of the session is gone' }
/** Places that a session is remembered to have been admitted from beside its first. The oldest go first. */
const PLACES_MAX = 64

/** `edited`: it was admitted, by an earlier version of the token. */
interface PlaceStanding {
  readonly kind: 'admitted' | 'edited' | 'new'
  readonly key: string
}

/**
 * Holds each request of a session to the rules of its token. An HLS session is a row of requests, and the addresses that
 * hold it together can be copied. So a request from another place than that of the admission, if the token has rules on
 * places, is another admission: decided, bound and recorded like the first. It gets no session of its own.
 */
export class RequestAccess {
  readonly #ctx: Context
  /** By `placeKey`: the token on which the place was last found to be right. */
  readonly #places = new WeakMap<ActiveSession, Map<string, TokenSnapshot>>()

  constructor(ctx: Context) {
    this.#ctx = ctx
  }

  /** True if the request may be answered by what is in memory. Reads and writes nothing. */
  isAdmitted(sessionId: string, from: RequestPlace): boolean {
    const entry = this.#ctx.sessions.get(sessionId)
    if (entry === undefined) return false
    if (isFirstPlace(entry, from)) return true
    const token = peekToken(this.#ctx, entry)
    return token !== undefined && this.#standing(token, entry, from).kind === 'admitted'
  }

  /**
   * Null: the request may be answered. Admits it from a new place, if the token does.
   * @throws StoreUnavailable when it cannot be decided
   */
  async check(sessionId: string, from: RequestPlace): Promise<Refusal> {
    const entry = this.#ctx.sessions.get(sessionId)
    if (entry === undefined) return NOT_ITS_TOKEN
    if (isFirstPlace(entry, from)) return null
    const token = await tokenOf(this.#ctx, entry)
    if (token === undefined) return NOT_ITS_TOKEN
    const standing = this.#standing(token, entry, from)
    if (standing.kind === 'admitted') return null
    return standing.kind === 'new'
      ? this.#admit(entry, from, standing.key)
      : this.#recheck(entry, from, standing.key, token.snapshot)
  }

  #standing({ snapshot }: CachedToken, entry: ActiveSession, from: RequestPlace): PlaceStanding {
    const credential = withToken(entry.request.credential, snapshot)
    const key = placeKey(credential, from)
    if (key === placeKey(credential, entry.request)) return { kind: 'admitted', key }
    const known = this.#places.get(entry)?.get(key)
    if (known === snapshot) return { kind: 'admitted', key }
    return { kind: known === undefined ? 'new' : 'edited', key }
  }

  /** From a place that is new: like any other viewer who comes with this token. */
  async #admit(entry: ActiveSession, from: RequestPlace, place: string): Promise<Refusal> {
    const { request } = entry
    const {
      decision,
      request: { credential },
    } = await authorize(this.#ctx, attemptFrom(request, from), {
      prove: async () => {
        const token = await tokenOf(this.#ctx, entry)
        return token ? withToken(request.credential, token.snapshot) : GONE
      },
    })
    if (decision.allowed && 'token' in credential) this.#remember(entry, place, credential.token)
    if (decision.allowed) return null
    this.#ctx.sessions.counts.refused.add(decision.code)
    return decision.message
  }

  /** From a place that was admitted, by a token that has changed: as for a session that is on. */
  #recheck(entry: ActiveSession, from: RequestPlace, place: string, token: TokenSnapshot): Refusal {
    const { address, origin } = from
    const request = { ...entry.request, address, origin, country: this.#ctx.countryOf(address) }
    const problem = problemOfEdit(this.#ctx, request, token)
    if (problem !== null) return problem.message
    this.#remember(entry, place, token)
    return null
  }

  #remember(entry: ActiveSession, place: string, token: TokenSnapshot): void {
    const places = this.#places.get(entry) ?? new Map<string, TokenSnapshot>()
    this.#places.set(entry, places)
    places.set(place, token)
    for (const oldest of places.keys()) {
      if (places.size <= PLACES_MAX) return
      places.delete(oldest)
    }
  }
}

/** Where it was admitted, or nobody needs a token there: nothing is to be decided. */
const isFirstPlace = ({ request, session }: ActiveSession, { address, origin }: RequestPlace): boolean =>
  session.tokenId === null || (request.address.text === address.text && request.origin === origin)

/** The token of a session as it is now; undefined when it is deleted or has another value. */
async function tokenOf({ cache }: Context, { session, tokenHash }: ActiveSession): Promise<CachedToken | undefined> {
  const token = session.tokenId === null ? undefined : await cache.tokenById(session.tokenId)
  return token?.hashHex === tokenHash ? token : undefined
}

/** The same, if it is in memory and may be used. */
function peekToken({ cache }: Context, { session, tokenHash }: ActiveSession): CachedToken | undefined {
  const token = session.tokenId === null ? 'unknown' : cache.peekTokenById(session.tokenId)
  return token !== 'unknown' && token.hashHex === tokenHash ? token : undefined
}

const withToken = (credential: Credential, token: TokenSnapshot): Credential =>
  credential.kind === 'selfSigned' ? { ...credential, token } : { kind: 'token', token }

const attemptFrom = (request: AccessRequest, { address, origin }: RequestPlace): AccessAttempt => ({
  action: request.action,
  protocol: request.protocol,
  accountId: request.accountId,
  streamName: request.streamName,
  presented: null,
  address,
  origin,
})
