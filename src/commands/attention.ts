import type { DiskSpace } from '../base/diskSpace.ts'
import { type AttentionFacts, type AttentionItem, attentionOf, EXPIRES_SOON_MS } from '../core/attention.ts'
import { namesCountries } from '../core/tokens/accountDefaults.ts'
import type { SessionContext } from './context.ts'
import { nodeFactsNow, unlinkedNodes } from './nodes/listNodes.ts'
import { firstStreamsOnAir } from './streams/streamsOnAir.ts'

/** A longer list would hide what to do first. */
const TOKENS_MAX = 50
const COUNTED_MAX = 1_000
const STREAMS_MAX = 1_000

/** What a caller knows besides the store; null: not known, no TLS, or no problem. */
export interface AttentionParts {
  readonly recordings: DiskSpace | { readonly problem: string } | null
  readonly certificate: AttentionFacts['certificate']
  readonly addonProblem: AttentionFacts['addonProblem']
}

/** What needs attention in an account. */
export async function readAttention(
  ctx: SessionContext,
  accountId: string,
  { recordings, certificate, addonProblem }: AttentionParts,
): Promise<AttentionItem[]> {
  const { read } = ctx.store
  const nowMs = ctx.clock.now()
  const hasCountries = ctx.hasCountries()
  const soon = { accountId, fromMs: nowMs, untilMs: nowMs + EXPIRES_SOON_MS, limit: TOKENS_MAX }
  const data = await ctx.store.diskSpace()
  const isUsable = recordings !== null && 'freeBytes' in recordings
  return attentionOf({
    nowMs,
    hasCountries,
    webhooks: (await read.webhooks.forAccount(accountId)).map((webhook) => ({ ...webhook, id: String(webhook.id) })),
    expiring: await read.attention.expiringTokens(soon),
    namingCountries: hasCountries ? 0 : await read.attention.tokensNamingCountries(accountId, COUNTED_MAX),
    accountNamesCountries: namesCountries(await ctx.cache.accountDefaults(accountId)),
    engines: (await read.engines.unstopped()).filter((engine) => engine.accountId === accountId),
    streams: await firstStreamsOnAir(ctx, accountId, STREAMS_MAX),
    disks: [
      ...(data === null ? [] : [{ what: 'database' as const, ...data }]),
      ...(isUsable ? [{ what: 'recordings' as const, ...recordings }] : []),
    ],
    recordingsProblem: recordings === null || isUsable ? null : recordings.problem,
    certificate,
    addonProblem,
    ...(await nodesOf(ctx)),
    unknownMigrations: await read.attention.unknownMigrations(),
  })
}

type NodeAttention = Pick<AttentionFacts, 'fullNodes' | 'unlinkedNodes' | 'mediaProcessEnds'>

async function nodesOf(ctx: SessionContext): Promise<NodeAttention> {
  const [listed, facts] = await Promise.all([ctx.store.read.nodes.list(), nodeFactsNow(ctx)])
  const nodes = listed.filter(({ isExpired }) => !isExpired)
  const named = nodes.map(({ id, url }) => ({ name: nodes.length === 1 ? null : (url ?? id), facts: facts.get(id) }))
  return {
    fullNodes: named.flatMap(({ name, facts: { full = [] } = {} }) => (full.length === 0 ? [] : [{ name, full }])),
    unlinkedNodes: unlinkedNodes(nodes, facts),
    mediaProcessEnds: named.flatMap(({ name, facts: { mediaProcessEnd: end = null } = {} }) =>
      end === null ? [] : [{ name, ...end }],
    ),
  }
}
