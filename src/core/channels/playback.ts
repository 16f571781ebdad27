import { err, ok, type Result } from '../../base/result.ts'
import type { Address } from '../access/address.ts'
import { type ChannelFailure, refusal } from './errors.ts'
import { isInNetwork, type Network, parseNetwork } from './network.ts'
import { refererHosts } from './referer.ts'
import type { Distribution, Engine } from './types.ts'
import {
  parseViewerToken,
  problemOfClaims,
  problemOfRestrictions,
  type ViewerClaims,
  type ViewerRestrictions,
  type ViewerToken,
} from './viewerToken.ts'

/** The playback rules of a distribution: compiled once, checked for every request. */
export interface PlaybackRules {
  readonly distribution: Distribution
  readonly networks: readonly Network[]
  /** The engines that feed it, in order of preference for new viewers. */
  readonly engines: readonly Engine[]
  /** What viewers see while none of the engines plays; null: nothing. */
  readonly slateId: string | null
  /** The keys that may sign viewer tokens. */
  readonly keys: readonly { id: string; verify(token: ViewerToken): boolean }[]
  /** Viewers need no token. */
  readonly isOpen: boolean
  /** The URLs of the nodes that run engines, by engine, but for those of this node. */
  readonly nodes: ReadonlyMap<string, string>
}

/** A client that requests a playlist or media. */
export interface PlaybackViewer {
  readonly address: Address
  /** ISO 3166-1 alpha-2; null when unknown. */
  readonly country: string | null
  readonly referer: string | undefined
  readonly userAgent: string | undefined
  readonly nowMs: number
}

/**
 * The rights from a token: how long, under which tracking id, where and on which devices a client may watch. Tickets
 * carry all of it.
 */
export interface Grant extends ViewerRestrictions {
  /** The key that signed the token; null: none is required. */
  readonly keyId: string | null
  /** When the token expires; null: never. */
  readonly untilMs: number | null
  readonly trackingId: string | null
}

/** The grant of an open distribution. */
const OPEN_GRANT: Grant = { keyId: null, untilMs: null, trackingId: null, countries: null, devices: null }

export function compilePlayback(
  distribution: Distribution,
  engines: readonly Engine[],
  keys: PlaybackRules['keys'],
  nodes: PlaybackRules['nodes'],
  slateId: string | null = null,
): PlaybackRules {
  const networks = distribution.security.ipBlocking.cidrs.flatMap((text) => {
    const network = parseNetwork(text)
    return network.ok ? [network.value] : []
  })
  return {
    distribution,
    networks,
    keys,
    nodes,
    slateId,
    isOpen: keys.length === 0 && !distribution.closedWithoutKey,
    engines: engines.filter(({ id }) => distribution.engineIds.includes(id)).toSorted(byPriority),
  }
}

/** The lowest number is preferred; among equals, the engine that was created first. */
const byPriority = (a: Engine, b: Engine): number =>
  a.priority - b.priority || a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1)

/** The rules that apply to every request, with or without a token: they can change while a viewer watches. */
function refuseViewer(
  { distribution, networks }: PlaybackRules,
  viewer: Pick<PlaybackViewer, 'address' | 'country' | 'referer'>,
): ChannelFailure | null {
  const { geoBlocking, ipBlocking, refererBlocking } = distribution.security
  if (!distribution.enabled || !distribution.hls) return refusal('not_found', 'There is nothing to play here')
  const { country } = viewer
  if (geoBlocking.enabled && !passes(geoBlocking.mode, country !== null && geoBlocking.countries.includes(country))) {
    return refusal('country_not_allowed', 'This cannot be watched from your country')
  }
  const isListed = networks.some((network) => isInNetwork(network, viewer.address))
  if (ipBlocking.enabled && !passes(ipBlocking.mode, isListed)) {
    return refusal('address_not_allowed', 'This cannot be watched from your address')
  }
  if (!refererBlocking.enabled || comesFromAllowed(refererBlocking, viewer.referer)) return null
  return refusal('referer_not_allowed', 'This cannot be watched on this page')
}

const passes = (mode: 'allow' | 'deny', isListed: boolean): boolean => (mode === 'allow') === isListed

function comesFromAllowed(
  { allowedDomains, allowNativeApps }: Distribution['security']['refererBlocking'],
  referer: string | undefined,
): boolean {
  if (referer === undefined || referer === '') return allowNativeApps
  return refererHosts(referer).some((host) => allowedDomains.includes(host))
}

/**
 * Whether a viewer may watch with this token, or without one. An open distribution needs no token and ignores one that
 * is sent: it proves nothing.
 */
export function admit(
  rules: PlaybackRules,
  viewer: PlaybackViewer,
  token: string | null,
  claim: string,
): Result<Grant, ChannelFailure> {
  const refused = refuseViewer(rules, viewer)
  if (refused) return err(refused)
  if (rules.isOpen) return ok(OPEN_GRANT)
  if (token === null)
    return err(refusal('token_required', 'A viewer token is needed: Authorization: Bearer, or ?token='))
  const parsed = parseViewerToken(token, claim)
  if (!parsed.ok) return err(refusal('invalid_token', `The token is not valid: ${parsed.error}`))
  const key = rules.keys.find((one) => one.verify(parsed.value))
  if (!key) return err(refusal('invalid_token', 'The token is not valid: it is signed with none of the keys'))
  return grantFor(rules, viewer, parsed.value.claims, key.id)
}

const CLAIM_TEXTS = {
  token_expired: 'The token has expired',
  invalid_token: 'The token is not valid yet',
  channel_not_allowed: 'The token is for other channels',
  country_not_allowed: 'The token is not for your country',
  device_not_allowed: 'The token is not for this kind of device',
} as const

function grantFor(
  { distribution }: PlaybackRules,
  viewer: PlaybackViewer,
  claims: ViewerClaims,
  keyId: string,
): Result<Grant, ChannelFailure> {
  const problem = problemOfClaims(claims, { ...viewer, channelId: distribution.channelId })
  if (problem) return err(refusal(problem, CLAIM_TEXTS[problem]))
  const { expMs: untilMs, trackingId, countries, devices } = claims
  return ok({ keyId, untilMs, trackingId, countries, devices })
}

/** The checks of a viewer with a ticket: the current rules and keys, and the restrictions of its token. Null: it may watch. */
export function refuseGranted(rules: PlaybackRules, grant: Grant, viewer: PlaybackViewer): ChannelFailure | null {
  const refused = refuseViewer(rules, viewer)
  if (refused !== null || rules.isOpen) return refused
  if (grant.keyId === null)
    return refusal('token_required', 'A viewer token is needed now: load the master playlist again')
  if (rules.keys.every(({ id }) => id !== grant.keyId))
    return refusal('invalid_token', 'The token is not valid: its key was deleted')
  if (grant.untilMs !== null && viewer.nowMs >= grant.untilMs)
    return refusal('token_expired', CLAIM_TEXTS.token_expired)
  const problem = problemOfRestrictions(grant, viewer)
  return problem === null ? null : refusal(problem, CLAIM_TEXTS[problem])
}
