import type { AccessContext, StreamsOnAir } from '../context.ts'

type OnAir = ReturnType<StreamsOnAir>

/** The feed of a stream, at whatever node; undefined: there is none. @throws StoreUnavailable */
export async function onAir(ctx: AccessContext, accountId: string, streamName: string): Promise<OnAir> {
  const found = peekOnAir(ctx, accountId, streamName)
  if (found !== 'unknown') return found
  const feeds = await ctx.store.read.feeds.remoteOf(ctx.sessions.node, { accountId, streamName })
  return feeds.length === 0 ? undefined : { secured: feeds.some(({ secured }) => secured) }
}

/** As `onAir`, from memory alone. Unknown: more feeds are on the air than memory holds. */
export function peekOnAir(ctx: AccessContext, accountId: string, streamName: string): OnAir | 'unknown' {
  return ctx.streamsOnAir(accountId, streamName) ?? (ctx.sessions.feeds.knowsAll ? undefined : 'unknown')
}
