import type { PublishTokenRecord, SubscribeTokenRecord } from './schema.ts'
import type { Token } from './types.ts'

/**
 * A token as responses show it. Optional fields that are unset are absent.
 * @param value the credential itself, 64 lowercase hexadecimal characters
 */
export function toRecord(token: Token, value: string): TokenRecord {
  return token.kind === 'publish' ? toPublishRecord(token, value) : toSubscribeRecord(token, value)
}

function toPublishRecord(token: Token, value: string): PublishTokenRecord {
  return {
    ...recordHead(token, value),
    subscribeRequiresAuth: token.subscribeRequiresAuth,
    record: token.record,
    enableThumbnails: token.enableThumbnails,
    multisource: token.multisource,
    ...(token.priority === null ? {} : { priority: token.priority }),
    endSessionsOnUpdate: token.endSessionsOnUpdate,
  }
}

function toSubscribeRecord(token: Token, value: string): SubscribeTokenRecord {
  return {
    ...recordHead(token, value),
    ...(token.trackingId === null ? {} : { tracking: { trackingId: token.trackingId } }),
    endSessionsOnUpdate: token.endSessionsOnUpdate,
  }
}

/** The order of the fields is that of the interface. */
function recordHead(token: Token, value: string) {
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
    effectiveSettings: { allowedCountries, deniedCountries },
  }
}

/** ISO 8601 UTC with milliseconds and `Z`. */
function isoDate(ms: number): string {
  return new Date(ms).toISOString()
}

/** A token as the interface shows it. */
export type TokenRecord = PublishTokenRecord | SubscribeTokenRecord
