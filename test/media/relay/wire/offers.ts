import { readFileSync } from 'node:fs'
import { parseOffer, type SdpOffer } from '../../../../src/media/relay/wire/sdp/offer.ts'
import type { planPublish, SdpPlan } from '../../../../src/media/relay/wire/sdp/plan.ts'

/** The text of a recorded offer. */
export const load = (name: string): string => readFileSync(new URL(`offers/${name}.sdp`, import.meta.url), 'utf8')

/** Throws if the offer is refused. */
export function read(text: string): SdpOffer {
  const offer = parseOffer(text)
  if (!offer.ok) throw new Error(offer.error.problem)
  return offer.value
}

/** Throws if nothing of the offer is taken. */
export function planned(plan: ReturnType<typeof planPublish>): SdpPlan {
  if (!plan.ok) throw new Error(plan.error.problem)
  return plan.value
}
