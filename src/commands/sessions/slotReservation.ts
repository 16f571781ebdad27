import type { Evaluation } from '../../core/access/types.ts'
import { type Address, addressKey } from '../../core/access/address.ts'
import { PROTOCOL_FACTS } from '../../core/access/protocols.ts'
import type { ReachedLimit } from '../../core/access/refusals.ts'
import type { SessionSlot, SlotRequest } from '../../core/sessions/slots.ts'
import type { SessionStart } from '../../services/sessionStarts.ts'
import type { AccessAttempt } from '../access/authorize.ts'
import { loadReached } from '../access/loadReached.ts'
import { reachedLimit, viewerLimits } from '../access/viewerLimits.ts'
import type { SessionContext } from '../context.ts'

/**
 * A slot between the decision and the session: taken synchronously with the decision, and released unless a session
 * gets it.
 */
export class SlotReservation {
  readonly #ctx: SessionContext
  #slot: SessionSlot | null = null

  constructor(ctx: SessionContext) {
    this.#ctx = ctx
  }

  /**
   * Null: a slot was free and is now taken, and the viewer would get a seat.
   * @param viewer who may have a seat already; null: a new one
   * @throws StoreUnavailable
   */
  async reserve(evaluation: Evaluation, viewer: string | null): Promise<ReachedLimit | null> {
    const reached = this.take(evaluation)
    if (reached !== null) return reached
    return reachedLimit(this.#ctx, await viewerLimits(this.#ctx, evaluation), viewer)
  }

  /** Null: a slot was free, and is now taken. A repeated decision keeps it. */
  take(evaluation: Evaluation): ReachedLimit | null {
    if (this.#slot !== null) return null
    const { slots, sessions } = this.#ctx
    const request = requestOf(this.#ctx, evaluation)
    const code = slots.refusal(request, sessions.leaving.size)
    if (code !== null) return { code }
    if (!mayStart(this.#ctx, startOf(this.#ctx, evaluation))) return TOO_MANY_STARTS
    const { request: attempt, decision } = evaluation
    const load = decision.allowed ? loadReached(this.#ctx, { ...attempt, accountId: decision.accountId }) : null
    if (load === null) this.#slot = slots.take(request)
    return load
  }

  /** Hands the slot to the session. */
  give(): SessionSlot {
    const slot = this.#slot
    if (slot === null) throw new Error('a session needs a slot')
    this.#slot = null
    return slot
  }

  release(): void {
    this.#slot?.release()
    this.#slot = null
  }
}

/** Checks the limits before the decision on a viewer, so that a full node costs little. */
export function limitBeforeDecision(ctx: SessionContext, attempt: AccessAttempt): ReachedLimit | null {
  const common = commonOf(ctx, attempt)
  const code = ctx.slots.refusal({ ...common, holder: null }, ctx.sessions.leaving.size)
  if (code !== null) return { code }
  return mayStart(ctx, { ...common, holder: null }) ? loadReached(ctx, attempt) : TOO_MANY_STARTS
}

const TOO_MANY_STARTS: ReachedLimit = { code: 'too_many_starts' }

/** A session is on record. */
export const noteStart = (ctx: SessionContext, evaluation: Evaluation): void =>
  ctx.starts.note(startOf(ctx, evaluation), ctx.clock.monotonic())

/** Counts a publisher with a stream key, which has no session. False: too many have begun, and it may not. */
export function startWithKey(ctx: SessionContext, address: Address, ingestId: string): boolean {
  const start = { action: 'publish', addressKey: keyOf(ctx, address), holder: `ingest ${ingestId}` } as const
  if (!mayStart(ctx, start)) return false
  ctx.starts.note(start, ctx.clock.monotonic())
  return true
}

const mayStart = ({ starts, clock }: SessionContext, start: SessionStart): boolean =>
  starts.allows(start, clock.monotonic())

/** What Sluice dials has pauses of its own. */
const startOf = (ctx: SessionContext, { request, decision }: Evaluation): SessionStart => ({
  ...commonOf(ctx, request),
  holder: PROTOCOL_FACTS[request.protocol].isDialled ? null : `token ${decision.tokenId}`,
})

function requestOf(ctx: SessionContext, { request, decision }: Evaluation): SlotRequest {
  const { tokenId } = decision
  const holder = tokenId === null ? { accountId: decision.allowed ? decision.accountId : '' } : { tokenId }
  return { ...commonOf(ctx, request), holder }
}

const commonOf = (
  ctx: SessionContext,
  { action, protocol, address }: Pick<AccessAttempt, 'action' | 'protocol' | 'address'>,
): Omit<SlotRequest, 'holder'> => ({
  action: action === 'publish' ? 'publish' : 'view',
  addressKey: keyOf(ctx, address),
  connects: PROTOCOL_FACTS[protocol].connectsLater,
})

/** Null: many clients may share it. */
const keyOf = ({ isProxy }: SessionContext, address: Address): string | null =>
  isProxy(address) ? null : addressKey(address)
