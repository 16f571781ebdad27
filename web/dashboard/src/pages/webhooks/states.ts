import type { Answer, listWebhookDeliveries } from '#api/tokens.ts'

export type DeliveryState = Answer<typeof listWebhookDeliveries>[number]['state']

/** The shape and colour (`StateKind`) of each state of a delivery. */
export const DELIVERY_STATES = {
  pending: 'idle',
  started: 'busy',
  delivered: 'ok',
  failed: 'error',
  skipped: 'off',
  unknown: 'warn',
} as const satisfies Readonly<Record<DeliveryState, string>>
