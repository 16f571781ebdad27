import type { Args, listWebhookDeliveries, redeliverWebhookEvents } from '#api/tokens.ts'
import { type PastRange, readPastRange } from '../../parts/pastRange.ts'
import { words } from '../../words/words.ts'
import { DELIVERY_STATES, type DeliveryState } from './states.ts'

const text = words.webhooks

type HookType = NonNullable<NonNullable<Args<typeof listWebhookDeliveries>['query']>['type']>
type LostState = Args<typeof redeliverWebhookEvents>['body']['states'][number]

export const STATES = Object.keys(DELIVERY_STATES) as readonly DeliveryState[]
export const TYPES = Object.keys(text.types) as readonly HookType[]
const LOST: readonly LostState[] = ['failed', 'skipped', 'unknown']

/** Which deliveries the list shows; every part stands in the address. */
export interface DeliveryFilters {
  readonly state: DeliveryState | undefined
  readonly type: HookType | undefined
  readonly range: PastRange
}

/** Reads the address. Unknown values of an old link count as absent. */
export const readDeliveryFilters = (query: URLSearchParams): DeliveryFilters => ({
  state: STATES.find((one) => one === query.get('state')),
  type: TYPES.find((one) => one === query.get('type')),
  range: readPastRange(query.get('range'), 'all'),
})

export const hasFilter = ({ state, type, range }: DeliveryFilters): boolean =>
  state !== undefined || type !== undefined || range !== 'all'

/**
 * The states that "send all again" takes: the filtered one if it is one of them, else those that surely did not arrive.
 * None: what the list shows has arrived, or is under way.
 */
export function lostStates({ state }: Pick<DeliveryFilters, 'state'>): readonly LostState[] {
  if (state === undefined) return ['failed', 'skipped']
  return LOST.filter((one) => one === state)
}
