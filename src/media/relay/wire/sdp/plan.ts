import { ok, type Result } from '../../../../base/result.ts'
import type { VideoCodec } from '../../../codecs/codecs.ts'
import {
  type ChosenCodec,
  chooseForPublisher,
  chooseForViewer,
  isReceiving,
  isSending,
  type WantedTracks,
} from './choose.ts'
import { type SdpRefusal, unservable } from './lines.ts'
import type { OfferedMedia } from './media.ts'
import type { SdpOffer } from './offer.ts'
import { publishProblem, viewProblem } from './problems.ts'

/** One entry for each m-line of the offer: how it will be answered; null: rejected. */
export type SdpPlan = readonly (ChosenCodec | null)[]

/**
 * One audio and one video m-line at most are taken of a publisher; others are rejected (RFC 9725 section 4.4.2). An offer
 * whose video or audio is not served is refused: a broadcast without one of them would not explain why. `without`: the
 * publisher asks to leave this medium out.
 */
export function planPublish(
  offer: SdpOffer,
  wanted: VideoCodec | null,
  without: 'audio' | 'video' | null = null,
): Result<SdpPlan, SdpRefusal> {
  const plan = firstOfEachKind(offer, (media) => (media.kind === without ? null : chooseForPublisher(media, wanted)))
  const needsVideo =
    without !== 'video' && (without === 'audio' || wanted !== null || hasOpen(offer, 'video', isSending))
  const needsAudio = without !== 'audio' && (!needsVideo || hasOpen(offer, 'audio', isSending))
  if (needsVideo && !answers(offer, plan, 'video')) return unservable(publishProblem(offer, wanted, 'video'))
  return needsAudio && !answers(offer, plan, 'audio') ? unservable(publishProblem(offer, null, 'audio')) : ok(plan)
}

/**
 * A viewer gets the wanted video and audio, each in the first m-line that accepts it. If the viewer requests one of them but
 * does not support its codec, the offer is refused: a black frame, or silence, would not explain why.
 */
export function planView(offer: SdpOffer, wanted: WantedTracks): Result<SdpPlan, SdpRefusal> {
  const plan = firstOfEachKind(offer, (media) => {
    const track = media.kind === 'video' ? wanted.video : wanted.audio
    return track === null ? null : chooseForViewer(media, track)
  })
  const isWhole = (['video', 'audio'] as const).every(
    (kind) => wanted[kind] === null || !hasOpen(offer, kind, isReceiving) || answers(offer, plan, kind),
  )
  const taken = (['video', 'audio'] as const).filter((kind) => answers(offer, plan, kind))
  return isWhole && taken.length > 0 ? ok(plan) : unservable(viewProblem(offer, wanted, taken[0] ?? null))
}

function firstOfEachKind(offer: SdpOffer, choose: (media: OfferedMedia) => ChosenCodec | null): SdpPlan {
  const done = new Set<string>()
  return offer.media.map((media) => {
    const chosen = media.kind === 'other' || done.has(media.kind) ? null : choose(media)
    if (chosen !== null) done.add(media.kind)
    return chosen
  })
}

const hasOpen = (offer: SdpOffer, kind: string, flows: (media: OfferedMedia) => boolean): boolean =>
  offer.media.some((media) => media.kind === kind && media.isOpen && flows(media))

const answers = (offer: SdpOffer, plan: SdpPlan, kind: 'video' | 'audio'): boolean =>
  offer.media.some((media, index) => media.kind === kind && plan[index] !== null)
