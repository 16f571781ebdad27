import type { Answer, listWebhookDeliveries } from '#api/tokens.ts'
import type { StateKind } from '../../parts/state.tsx'

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

interface Health {
  readonly failuresInRow?: number
  readonly disabled?: object
}

/** The mark of a webhook: how its last deliveries went. */
export const healthKindOf = ({ failuresInRow = 0, disabled }: Health): StateKind =>
  disabled ? 'error' : failuresInRow > 0 ? 'warn' : 'ok'
