import type { Result } from '../../base/result.ts'
import { haveTooManySteps, type StreamEntry, TOO_MANY_STEPS } from '../access/streamName.ts'
import { Problems, shown } from '../validation/problems.ts'
import type { FieldErrors } from '../errors.ts'
import { pickFlags, TOKEN_FLAGS } from './flags.ts'
import { splitTargets } from './restream.ts'
import { type TargetKeys, TOKEN_LIMITS, type Token, type TokenPatch, type TokenRules } from './types.ts'

/** What a new `bindIpsOnUsage` does to the addresses that are bound. `users`: those that use the token now are bound first. */
export type Rebind = { kind: 'keep' } | { kind: 'clear' } | { kind: 'earliest' | 'users'; count: number }

/** The result of an update, to be written as a whole. */
export interface PatchedToken {
  rules: TokenRules
  /** Null: targets and keys stay. */
  restreamKeys: TargetKeys | null
  refreshToken: boolean
  rebind: Rebind
}

/** Merges an update into the stored token, and checks the rules that need the merged token. */
export function applyPatch(token: Token, patch: TokenPatch): Result<PatchedToken, FieldErrors> {
  const problems = new Problems()
  const streams = mergeStreams(token.streams, patch, problems)
  const targets = patch.restream && splitTargets(patch.restream, token.restream, problems)
  const restream = targets?.restream ?? token.restream
  const rules: TokenRules = { ...rulesOf(token), ...patch.set, streams, restream }
  checkMergedCountries(rules, patch, problems)
  const restreamKeys = targets?.keys ?? null
  return problems.settle({ rules, restreamKeys, refreshToken: patch.refreshToken, rebind: rebindFor(token, patch) })
}

/** Only the rules, listed one by one: the other stored fields (identity, dates, the sealed value) stay out. */
export function rulesOf(token: TokenRules): TokenRules {
  return {
    label: token.label,
    streams: token.streams,
    isActive: token.isActive,
    allowedOrigins: token.allowedOrigins,
    allowedIpAddresses: token.allowedIpAddresses,
    bindIpsOnUsage: token.bindIpsOnUsage,
    allowedCountries: token.allowedCountries,
    deniedCountries: token.deniedCountries,
    ...pickFlags(TOKEN_FLAGS, token),
    originCluster: token.originCluster,
    geoCascade: token.geoCascade,
    priority: token.priority,
    hlsRenditions: token.hlsRenditions,
    hlsCodecs: token.hlsCodecs,
    restream: token.restream,
    trackingId: token.trackingId,
    maxViewers: token.maxViewers,
    recordingDays: token.recordingDays,
  }
}

function mergeStreams(stored: readonly StreamEntry[], patch: TokenPatch, problems: Problems): StreamEntry[] {
  const merged = new Map(stored.map((entry) => [entry.streamName, entry]))
  for (const [index, name] of patch.removeStreams.entries()) {
    if (!merged.delete(name)) problems.add(`removeTokenStreams[${index}]`, `the token has no stream ${shown(name)}`)
  }
  for (const [index, entry] of patch.addStreams.entries()) {
    const path = `addTokenStreams[${index}].streamName`
    if (merged.has(entry.streamName)) problems.add(path, `the token has ${shown(entry.streamName)} already`)
    merged.set(entry.streamName, entry)
  }
  checkStreamCount(merged.size, problems)
  const streams = [...merged.values()]
  const patterns = streams.filter(({ isRegex }) => isRegex).map(({ streamName }) => streamName)
  if (patch.addStreams.length > 0 && haveTooManySteps(patterns))
    problems.add('addTokenStreams', `patterns ${TOO_MANY_STEPS}`)
  return streams
}

function checkStreamCount(count: number, problems: Problems): void {
  const { streamsMax } = TOKEN_LIMITS
  if (count === 0) problems.add('removeTokenStreams', 'at least one stream must be left; add one in the same body')
  if (count > streamsMax) {
    problems.add('addTokenStreams', `the token would have ${count} streams; at most ${streamsMax} are allowed`)
  }
}

/** The body itself is already validated. Here one list is new and the other is stored. */
function checkMergedCountries(rules: TokenRules, { set }: TokenPatch, problems: Problems): void {
  if (rules.allowedCountries.length === 0 || rules.deniedCountries.length === 0) return
  if (set.allowedCountries) problems.add('allowedCountries', excluded('deniedCountries'))
  else if (set.deniedCountries) problems.add('deniedCountries', excluded('allowedCountries'))
}

const excluded = (other: string): string =>
  `excludes ${other}, which the token has; to change over, send ${other}: [] in the same body`

function rebindFor(token: Token, patch: TokenPatch): Rebind {
  const count = patch.set.bindIpsOnUsage
  if (count === undefined) return { kind: 'keep' }
  if (count === 0) return { kind: 'clear' }
  if (token.bindIpsOnUsage === 0) return { kind: 'users', count }
  return count < token.bindIpsOnUsage ? { kind: 'earliest', count } : { kind: 'keep' }
}
