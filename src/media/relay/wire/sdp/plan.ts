import { ok, type Result } from '../../../../base/result.ts'
import type { VideoCodec } from '../../../frame.ts'
import { type ChosenCodec, chooseForPublisher, chooseForViewer, isReceiving, type WantedTrack } from './choose.ts'
import { type SdpRefusal, unservable } from './lines.ts'
import type { OfferedMedia } from './media.ts'
import type { Offer } from './offer.ts'

/** One entry for each m-line of the offer: how it will be answered; null: rejected. */
export type Plan = readonly (ChosenCodec | null)[]

/** One audio and one video m-line at most are taken of a publisher; others are rejected (RFC 9725 section 4.4.2). */
export function planPublish(offer: Offer, wanted: VideoCodec | null): Result<Plan, SdpRefusal> {
  const plan = firstOfEachKind(offer, (media) => chooseForPublisher(media, wanted))
  const sends = offer.media.some(({ kind, direction }) => kind !== 'other' && direction.startsWith('send'))
  if (!sends) return unservable('The offer sends nothing: no audio or video of it is sendonly or sendrecv.')
  if (plan.some((chosen) => chosen !== null) && (wanted === null || answersVideo(offer, plan))) return ok(plan)
  return unservable(
    wanted === null
      ? 'The offer has no codec that is served: Opus, H.264 with packetization-mode=1, VP8, VP9 or AV1.'
      : `The offer does not send ${wanted.toUpperCase()} video.`,
  )
}

/**
 * A viewer gets the wanted video and audio, each in the first m-line that takes it. Who asks for video and cannot decode the
 * stream's is refused: a black picture with sound would give no reason.
 */
export function planView(
  offer: Offer,
  { video, audio }: { readonly video: WantedTrack | null; readonly audio: WantedTrack | null },
): Result<Plan, SdpRefusal> {
  const plan = firstOfEachKind(offer, (media) => {
    const track = media.kind === 'video' ? video : audio
    return track === null ? null : chooseForViewer(media, track)
  })
  if (video !== null && audio !== null && asksForVideo(offer) && !answersVideo(offer, plan)) {
    const codec = video.codec.toUpperCase()
    return unservable(
      `The stream's video is ${codec}, which the offer does not receive. Without video in it, it gets the sound.`,
    )
  }
  if (plan.some((chosen) => chosen !== null)) return ok(plan)
  const names = [video, audio].flatMap((track) => (track === null ? [] : [track.codec.toUpperCase()]))
  return unservable(`The offer receives nothing of what the stream has: ${names.join(' and ')}.`)
}

function firstOfEachKind(offer: Offer, choose: (media: OfferedMedia) => ChosenCodec | null): Plan {
  const done = new Set<string>()
  return offer.media.map((media) => {
    const chosen = media.kind === 'other' || done.has(media.kind) ? null : choose(media)
    if (chosen !== null) done.add(media.kind)
    return chosen
  })
}

const asksForVideo = (offer: Offer): boolean =>
  offer.media.some((media) => media.kind === 'video' && isReceiving(media))

const answersVideo = (offer: Offer, plan: Plan): boolean =>
  offer.media.some(({ kind }, index) => kind === 'video' && plan[index] !== null)
