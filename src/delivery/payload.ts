import { renderPayload } from '../core/webhooks/events.ts'
import {
  eventIdOf,
  CHANNEL_EVENT_TYPE,
  channelEventBody,
  type StoredChannelEvent,
} from '../core/channels/webhooks/events.ts'
import type { Delivery, Payload, StoredWebhook } from '../store/store.ts'
import type { EgressRequest } from '../net/egress.ts'
import { type HeaderProfile, channelSignatureHeaders, signatureHeaders, thumbnailHeaders } from './signature.ts'

/** The data of a thumbnail in the outbox. The image is JPEG in base64. */
export interface ThumbnailData {
  image: string
  feedId: string
  streamId: string
  tokenId: number
}

/**
 * Fixes the bytes of an event. From here on exactly these bytes are stored, signed, sent and resent.
 * @param data the event's JSON
 * @param atMs when the request is sent, epoch milliseconds
 * @throws for an event that this version does not know
 */
export function fixPayload(
  event: Pick<Delivery, 'type' | 'event' | 'accountId'> & { data: string },
  profile: HeaderProfile,
  atMs: number,
): Payload {
  const data = JSON.parse(event.data) as object
  if (event.type === CHANNEL_EVENT_TYPE) {
    const body = channelEventBody({ name: event.event, accountId: event.accountId, ...(data as StoredChannelEvent) })
    return { body: Buffer.from(body), contentType: 'application/json', headers: {} }
  }
  if (event.type !== 'thumbnail') {
    const body = renderPayload({ type: event.type, event: event.event, data }, atMs)
    return { body, contentType: 'application/json', headers: {} }
  }
  const { image, feedId, streamId, tokenId } = data as ThumbnailData
  const headers = thumbnailHeaders(profile, { timestampMs: atMs, feedId, streamId, tokenId })
  return { body: Buffer.from(image, 'base64'), contentType: 'image/jpeg', headers }
}

export interface Sender {
  readonly profile: HeaderProfile
  /** `Sluice/<version>` */
  readonly userAgent: string
  /** Unseals the webhook's secret (base64); throws when that fails. */
  readonly openSecret: (sealed: Uint8Array) => string
}

/**
 * The request of a delivery, signed with the current secret of the webhook.
 * @throws when the secret cannot be unsealed
 */
export function requestFor(
  sender: Sender,
  webhook: Pick<StoredWebhook, 'url' | 'secretSealed'>,
  { eventId, type }: Pick<Delivery, 'eventId' | 'type'>,
  payload: Payload,
  atMs: number,
): EgressRequest {
  const { profile, userAgent, openSecret } = sender
  const { body, contentType, headers } = payload
  const secret = openSecret(webhook.secretSealed)
  const signing = { profile, secret, timestampMs: atMs, body }
  const signature =
    type === CHANNEL_EVENT_TYPE
      ? channelSignatureHeaders({ ...signing, id: eventIdOf(eventId) })
      : signatureHeaders({ ...signing, id: eventId })
  return {
    url: webhook.url,
    method: 'POST',
    headers: { 'content-type': contentType, 'user-agent': userAgent, ...headers, ...signature },
    body,
  }
}
