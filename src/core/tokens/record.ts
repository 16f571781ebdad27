import type { PublishTokenRecord, SubscribeTokenRecord } from './schema.ts'
import type { Token } from './types.ts'

/**
 * A token as responses show it. Optional fields that are unset are absent.
 * @param value the credential itself, 64 lowercase hexadecimal characters
 */
export function toTokenRecord(token: Token, value: string): TokenRecord {
  return token.kind === 'publish' ? toPublishRecord(token, value) : toSubscribeRecord(token, value)
}

function toPublishRecord(token: Token, value: string): PublishTokenRecord {
  return {
    ...recordHead(token, value, { geoCascade: NO_CASCADE, enableUTCInsertion: false as const }),
    subscribeRequiresAuth: token.subscribeRequiresAuth,
    record: token.record,
    enableThumbnails: token.enableThumbnails,
    multisource: token.multisource,
    ...NOT_BUILT,
    ...(token.priority === null ? {} : { priority: token.priority }),
    endSessionsOnUpdate: token.endSessionsOnUpdate,
  }
}

function toSubscribeRecord(token: Token, value: string): SubscribeTokenRecord {
  return {
    ...recordHead(token, value, {}),
    ...(token.trackingId === null ? {} : { tracking: { trackingId: token.trackingId } }),
    endSessionsOnUpdate: token.endSessionsOnUpdate,
  }
}

const NO_CASCADE: PublishTokenRecord['geoCascade'] = { isEnabled: false, clusters: [] }

/** Clients read these without asking whether they are there. RTMP is never delayed. */
const NOT_BUILT = {
  clip: false,
  lowLatencyRtmp: true,
  enableUTCInsertion: false,
  integrationId: 'None',
  displaySrtPassphrase: false,
  drm: false,
  geoCascade: NO_CASCADE,
  restream: [],
  encoderProfileId: null,
} satisfies Partial<PublishTokenRecord>

/** The order of the fields is that of the interface. @param effective settings that one kind of token alone has */
function recordHead<T extends object>(token: Token, value: string, effective: T) {
  const { allowedCountries, deniedCountries } = token
  return {
    id: token.id,
    label: token.label,
    name: token.label,
    token: value,
    addedOn: isoDate(token.addedAtMs),
    ...(token.expiresAtMs === null ? {} : { expiresOn: isoDate(token.expiresAtMs) }),
    isActive: token.isActive,
    streams: token.streams.map(({ streamName, isRegex }) => ({ streamName, isRegex })),
    allowedOrigins: token.allowedOrigins,
    allowedIpAddresses: token.allowedIpAddresses,
    ...(token.bindIpsOnUsage === 0 ? {} : { bindIpsOnUsage: token.bindIpsOnUsage }),
    allowedCountries,
    deniedCountries,
    originCluster: '' as const,
    effectiveSettings: { originCluster: 'auto' as const, allowedCountries, deniedCountries, ...effective },
  }
}

const SAME_FOR_ALL = new Set(['originCluster', 'effectiveSettings', ...Object.keys(NOT_BUILT)])

/** What a record says of its own token: without what is the same for all, and what stands in it twice. */
export const ownFields = (record: TokenRecord): object =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !SAME_FOR_ALL.has(name)))

/** ISO 8601 UTC with milliseconds and `Z`. */
function isoDate(ms: number): string {
  return new Date(ms).toISOString()
}

/** A token as the interface shows it. */
export type TokenRecord = PublishTokenRecord | SubscribeTokenRecord
