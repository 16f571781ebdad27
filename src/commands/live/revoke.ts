import type { Credential, TokenSnapshot } from '../../core/access/types.ts'
import { decide } from '../../core/access/decide.ts'
import type { LiveEntry } from '../../media/sessions.ts'
import type { CachedToken, Changed } from '../../store/cached.ts'
import { StoreUnavailable } from '../../store/store.ts'
import type { Context } from '../context.ts'
import { endSession } from './close.ts'

const KICKS_AT_ONCE = 1000
const FEEDS_MAX = 10_000

/** Follows what changes, here and on other nodes, until the answered function is called. */
export function followChanges(ctx: Context): () => void {
  return ctx.cache.onChange((changed) => void follow(ctx, changed))
}

async function follow(ctx: Context, changed: Changed): Promise<void> {
  try {
    if (changed.kind === 'token') await recheckToken(ctx, changed.id)
    if (changed.kind === 'kick' || changed.kind === 'all') await endKicked(ctx)
    if (changed.kind === 'feed' || changed.kind === 'all') await lookElsewhere(ctx)
    if (changed.kind === 'all') await recheckAll(ctx)
  } catch (error) {
    // The timers do the same again, so nothing is lost but time.
    ctx.log.warn({ changed, err: error }, 'a change could not be followed')
  }
}

/** Ends the sessions of a token that it no longer admits. Resolves when they are ended. */
async function recheckToken(ctx: Context, tokenId: number): Promise<void> {
  const entries = ctx.live.ofToken(tokenId)
  if (entries.length === 0) return
  try {
    const token = await ctx.cache.tokenById(tokenId)
    ctx.live.unchecked.delete(tokenId)
    await endRefused(ctx, entries, token)
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    ctx.live.unchecked.add(tokenId)
  }
}

/** Looks again at what could not be looked at when the store was away. */
export async function recheckLate(ctx: Context): Promise<void> {
  for (const tokenId of ctx.live.unchecked) await recheckToken(ctx, tokenId)
}

async function recheckAll(ctx: Context): Promise<void> {
  const ids = new Set(ctx.live.all().map(({ session }) => session.tokenId))
  for (const id of ids) if (id !== null) await recheckToken(ctx, id)
}

async function endRefused(ctx: Context, entries: readonly LiveEntry[], token: CachedToken | undefined): Promise<void> {
  const ended = entries.flatMap((entry) => {
    const reason = reasonToEnd(ctx, entry, token)
    return reason === null ? [] : [endSession(ctx, entry, reason)]
  })
  await Promise.all(ended)
}

/** Null: the session stays. */
function reasonToEnd(ctx: Context, entry: LiveEntry, token: CachedToken | undefined): string | null {
  if (!token) return 'token_deleted'
  if (token.hashHex !== entry.tokenHash) return 'token_refreshed'
  const { snapshot } = token
  if (snapshot.version === entry.tokenVersion) return null
  const credential = asLiving(entry.request.credential, snapshot)
  const decision = decide({ ...entry.request, credential }, ctx.policy, ctx.clock.now())
  if (!decision.allowed && decision.code === 'token_revoked') return 'token_revoked'
  if (!decision.allowed && snapshot.endSessionsOnUpdate) return 'token_edited'
  entry.tokenVersion = snapshot.version
  return null
}

/** The same credential with the token of now. Expiry and a disabled token refuse new use only, so they are left out. */
function asLiving(credential: Credential, snapshot: TokenSnapshot): Credential {
  const token = { ...snapshot, isActive: true, expiresAtMs: null }
  if (credential.kind !== 'selfSigned') return { kind: 'token', token }
  const claims = { ...credential.claims, expiresAtMs: Number.POSITIVE_INFINITY, notBeforeMs: null }
  return { kind: 'selfSigned', token, claims }
}

/** Ends sessions of this node that somebody asked to end. */
export async function endKicked(ctx: Context): Promise<void> {
  if (ctx.live.node === '') return
  const kicked = await ctx.store.read.sessions.kicked(ctx.live.node, KICKS_AT_ONCE)
  const ended = kicked.flatMap(({ id, reason }) => {
    const entry = ctx.live.get(id)
    return entry ? [endSession(ctx, entry, reason)] : []
  })
  await Promise.all(ended)
}

/** Learns what is on the air at other nodes. */
export async function lookElsewhere(ctx: Context): Promise<void> {
  const open = await ctx.store.read.feeds.open(FEEDS_MAX)
  ctx.live.setElsewhere(open.filter((feed) => feed.node !== ctx.live.node))
}
