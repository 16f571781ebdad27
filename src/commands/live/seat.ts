import { addressKey } from '../../core/access/address.ts'
import type { Protocol } from '../../core/access/types.ts'
import type { Place, PlaceRefusalCode, PlaceRequest } from '../../core/sessions/places.ts'
import type { Approach, Considered } from '../authorize.ts'
import type { Context } from '../context.ts'

/** In these the media connection comes up after the admission, or never. */
const CONNECTS: ReadonlySet<Protocol> = new Set(['whip', 'whep'])

/** A place between the decision and the session: taken in the turn of the decision, released unless a session gets it. */
export class Seat {
  readonly #ctx: Context
  #place: Place | null = null

  constructor(ctx: Context) {
    this.#ctx = ctx
  }

  /** Null: there is a place, and it is taken. A decision that is made again keeps it. */
  take(considered: Considered): PlaceRefusalCode | null {
    if (this.#place !== null) return null
    const { places, live } = this.#ctx
    const request = requestOf(this.#ctx, considered)
    const full = places.refusal(request, live.leaving.size)
    if (full === null) this.#place = places.take(request)
    return full
  }

  /** The place is the session's from here on. */
  give(): Place {
    const place = this.#place
    if (place === null) throw new Error('a session needs a place')
    this.#place = null
    return place
  }

  leave(): void {
    this.#place?.release()
    this.#place = null
  }
}

/** Asked before a viewer is decided on, so that a full node costs little. */
export const placeFor = (ctx: Context, approach: Approach): PlaceRefusalCode | null =>
  ctx.places.refusal({ ...commonOf(ctx, approach), holder: null }, ctx.live.leaving.size)

function requestOf(ctx: Context, { request, decision }: Considered): PlaceRequest {
  const { tokenId } = decision
  const holder = tokenId === null ? { accountId: decision.allowed ? decision.accountId : '' } : { tokenId }
  return { ...commonOf(ctx, request), holder }
}

const commonOf = (
  { isProxy }: Context,
  { action, protocol, address }: Pick<Approach, 'action' | 'protocol' | 'address'>,
): Omit<PlaceRequest, 'holder'> => ({
  action,
  addressKey: isProxy(address) ? null : addressKey(address),
  connects: CONNECTS.has(protocol),
})
