import type { Bytes } from '../../core/sessions/types.ts'
import type { LiveEntry } from '../../media/sessions.ts'
import type { Context } from '../context.ts'
import { endSession, writeLateEnds } from './close.ts'

const AT_ONCE = 500

/**
 * Totals of a session so far; they only rise. `silentMs`: how long ago a publisher's last media came. Synchronous and cheap:
 * they are written every few seconds.
 */
export function countBytes(
  ctx: Context,
  sessionId: string,
  { bytesIn, bytesOut, silentMs = 0 }: Bytes & { readonly silentMs?: number },
): void {
  const entry = ctx.live.get(sessionId) ?? ctx.live.leaving.get(sessionId)?.entry
  if (!entry) return
  const { bytes } = entry
  const now = { bytesIn: Math.max(bytes.bytesIn, bytesIn), bytesOut: Math.max(bytes.bytesOut, bytesOut) }
  ctx.live.counts.bytesIn += now.bytesIn - bytes.bytesIn
  ctx.live.counts.bytesOut += now.bytesOut - bytes.bytesOut
  if (entry.session.action === 'publish' && now.bytesIn > bytes.bytesIn) entry.mediaAtMs = ctx.clock.now() - silentMs
  entry.bytes = now
}

/**
 * Writes what was counted since the last time. Sessions that the store says have ended (another node took this one for
 * dead, say) are cut here too.
 */
export async function writeBytes(ctx: Context): Promise<void> {
  await writeLateEnds(ctx)
  const risen = ctx.live.all().filter(({ bytes, written }) => bytes !== written)
  for (let at = 0; at < risen.length; at += AT_ONCE) await writeSome(ctx, risen.slice(at, at + AT_ONCE))
}

async function writeSome(ctx: Context, entries: readonly LiveEntry[]): Promise<void> {
  const totals = entries.map(({ session, bytes }) => ({ id: session.id, ...bytes }))
  const sent = entries.map(({ bytes }) => bytes)
  const gone = await ctx.store.transaction((tx) => tx.sessions.count(totals, ctx.clock.now()))
  for (const [at, entry] of entries.entries()) entry.written = sent[at] ?? entry.written
  for (const id of gone) {
    const entry = ctx.live.get(id)
    if (entry) void endSession(ctx, entry, 'lost')
  }
}
