import { isoTime } from '../../base/time.ts'
import { cascadeRecord, CLUSTER, regionOf } from '../clusters.ts'
import { hasSecretUrl } from '../restream/targets.ts'
import { type AccountDefaults, effectiveCountries } from './accountDefaults.ts'
import { COMMON_FLAGS, pickFlags, PUBLISH_FLAGS } from './flags.ts'
import type { PublishTokenRecord, SubscribeTokenRecord } from './recordSchema.ts'
import type { Token } from './types.ts'

/**
 * A token as responses show it. Unset optional fields are absent.
 * @param value the credential itself, 64 lowercase hexadecimal characters
 * @param srtPassphrase if the token displays it
 * @param keys of its targets, for files of provisioning; by default only their ends are shown
 */
export function toTokenRecord(
  token: Token,
  value: string,
  srtPassphrase?: string,
  keys: readonly string[] = [],
): TokenRecord {
  return token.kind === 'publish' ? toPublishRecord(token, value, srtPassphrase, keys) : toSubscribeRecord(token, value)
}

function toPublishRecord(
  token: Token,
  value: string,
  srtPassphrase: string | undefined,
  keys: readonly string[],
): PublishTokenRecord {
  return {
    ...recordHead(token, value, {
      geoCascade: cascadeRecord(token.geoCascade),
      enableUTCInsertion: token.enableUTCInsertion,
    }),
    ...pickFlags(PUBLISH_FLAGS, token),
    ...(srtPassphrase === undefined ? {} : { srtPassphrase }),
    ...NOT_BUILT,
    geoCascade: cascadeRecord(token.geoCascade),
    restream: token.restream.map(({ shownKey, ...target }, at) => withKey(target, keys[at] ?? shownKey)),
    ...(token.priority === null ? {} : { priority: token.priority }),
    ...(token.recordingDays === null ? {} : { recordingDays: token.recordingDays }),
    ...(token.hlsRenditions.length === 0 ? {} : { hlsRenditions: [...token.hlsRenditions] }),
    ...(token.hlsCodecs === 'h264' ? {} : { hlsCodecs: token.hlsCodecs }),
    ...pickFlags(COMMON_FLAGS, token),
  }
}

/** Of a URL with secrets the stored key is the whole URL. */
const withKey = <T extends { readonly url: string }>(target: T, key: string): T & { key: string } =>
  hasSecretUrl(key) ? { ...target, url: key, key: '' } : { ...target, key }

function toSubscribeRecord(token: Token, value: string): SubscribeTokenRecord {
  return {
    ...recordHead(token, value, {}),
    originCluster: '',
    ...(token.trackingId === null ? {} : { tracking: { trackingId: token.trackingId } }),
    ...pickFlags(COMMON_FLAGS, token),
  }
}

/** Clients read these without checking that they exist. RTMP is never delayed. */
const NOT_BUILT = {
  clip: false,
  lowLatencyRtmp: true,
  integrationId: 'None',
  drm: false,
  encoderProfileId: null,
} satisfies Partial<PublishTokenRecord>

/**
 * Fields are in the order of the API.
 * @param effective settings that only one kind of token has
 */
function recordHead<T extends object>(token: Token, value: string, effective: T) {
  const { allowedCountries, deniedCountries } = token
  return {
    id: token.id,
    label: token.label,
    name: token.label,
    token: value,
    addedOn: isoTime(token.addedAtMs),
    ...(token.expiresAtMs === null ? {} : { expiresOn: isoTime(token.expiresAtMs) }),
    ...(token.lastUsedAtMs === undefined ? {} : { lastUsedOn: isoTime(token.lastUsedAtMs) }),
    isActive: token.isActive,
    streams: token.streams.map(({ streamName, isRegex }) => ({ streamName, isRegex })),
    allowedOrigins: token.allowedOrigins,
    allowedIpAddresses: token.allowedIpAddresses,
    ...(token.bindIpsOnUsage === 0 ? {} : { bindIpsOnUsage: token.bindIpsOnUsage }),
    ...(token.maxViewers === 0 ? {} : { maxViewers: token.maxViewers }),
    allowedCountries,
    deniedCountries,
    originCluster: token.originCluster,
    effectiveSettings: {
      originCluster: token.originCluster || CLUSTER,
      allowedCountries,
      deniedCountries,
      ...effective,
    },
  }
}

const SAME_FOR_ALL = new Set(['effectiveSettings', ...Object.keys(NOT_BUILT)])

/** The fields in which tokens differ: without constants, without values that occur twice, and without a cluster that it leaves open. */
export const ownFields = (record: TokenRecord): object =>
  Object.fromEntries(Object.entries(record).filter(([name, value]) => !SAME_FOR_ALL.has(name) && value !== ''))

/** The same record, with the country rules and the clusters of its account where it has none. */
export function withDefaults<R extends ListedTokenRecord>(record: R, account: AccountDefaults): R {
  const { allowedCountries, deniedCountries } = effectiveCountries(record, account)
  const lists = { allowedCountries: [...allowedCountries], deniedCountries: [...deniedCountries] }
  const effectiveSettings = { ...record.effectiveSettings, ...lists }
  if (!isPublish(record)) return { ...record, effectiveSettings }
  const originCluster = regionOf(record.originCluster, account) ?? CLUSTER
  const geoCascade = record.geoCascade.isEnabled ? record.geoCascade : cascadeRecord(account.geoCascade)
  return { ...record, effectiveSettings: { ...effectiveSettings, originCluster, geoCascade } }
}

const isPublish = (record: ListedTokenRecord): record is Omit<PublishTokenRecord, 'token'> => 'restream' in record

/** A token as lists show it, without its value and its passphrase. */
export function toListedRecord(token: Token): ListedTokenRecord {
  const { token: _value, ...record } = toTokenRecord(token, '')
  return record
}

/** A token in a list; `token` is absent when values were left out. */
export type ListedTokenRecord = Omit<PublishTokenRecord, 'token'> | Omit<SubscribeTokenRecord, 'token'>

/** A token as the API shows it. */
export type TokenRecord = PublishTokenRecord | SubscribeTokenRecord
