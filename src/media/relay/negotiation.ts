import { err, ok, type Result } from '../../base/result.ts'
import type { Negotiated } from '../engine.ts'
import { alternatives, isVideoCodec, RTP_VIDEO_NAMES, rtpVideoCodec } from '../codecs/codecs.ts'
import type { Source } from './forward/source.ts'
import type { PublisherLine } from './inbound/publisher.ts'
import type { DownTrackOptions } from './outbound/downTrack.ts'
import type { AnsweredIdle, AnsweredMedia, AnsweredView } from './wire/sdp/answer.ts'
import { type ChosenCodec, chooseForPublisher, chooseIdle, type WantedTracks } from './wire/sdp/choose.ts'
import type { SdpRefusal } from './wire/sdp/lines.ts'
import type { OfferedMedia } from './wire/sdp/media.ts'
import { parseOffer, type SdpOffer } from './wire/sdp/offer.ts'
import { planPublish, planView, type SdpPlan } from './wire/sdp/plan.ts'

/** An offer that is not accepted, with the HTTP status and a sentence for the client. */
export type OfferRefusal = Extract<Negotiated, { ok: false }>

const refused = ({ status, problem }: SdpRefusal): Result<never, OfferRefusal> => err({ ok: false, status, problem })

/** What a publisher will send, and how its m-lines are answered. */
export interface PublishAgreement {
  readonly offer: SdpOffer
  readonly lines: readonly PublisherLine[]
  readonly answers: readonly AnsweredMedia[]
}

/** `codec`: the only video codec to accept; null: any. `without`: the medium that the publisher asks to leave out. */
export function negotiatePublish(
  text: string,
  codec: string | null,
  without: 'audio' | 'video' | null = null,
): Result<PublishAgreement, OfferRefusal> {
  const read = parseOffer(text)
  if (!read.ok) return refused(read.error)
  const offer = read.value
  const wanted = codec === null ? null : rtpVideoCodec(codec.toLowerCase())
  if (wanted === undefined) {
    const problem = `The codec ${String(codec).slice(0, 20)} is not known: ${alternatives(RTP_VIDEO_NAMES)}.`
    return err({ ok: false, status: 406, problem })
  }
  const plan = planPublish(offer, wanted, without)
  if (!plan.ok) return refused(plan.error)
  const answers = plan.value.map((chosen, at) => {
    const media = offer.media[at]
    return chosen === null ? leftOutAnswer(media, without) : publishAnswer(chosen, media)
  })
  return ok({ offer, lines: linesOf(offer, plan.value), answers })
}

/** Inactive, so that the publisher sends nothing there; rejected if it could not be taken anyway. */
function leftOutAnswer(media: OfferedMedia | undefined, without: 'audio' | 'video' | null): AnsweredIdle | null {
  const chosen = media?.kind === without ? chooseForPublisher(media, null) : null
  return chosen && { direction: 'inactive', chosen }
}

const publishAnswer = (chosen: ChosenCodec, media: OfferedMedia | undefined): AnsweredMedia => ({
  direction: 'recvonly',
  chosen,
  rids: isVideoCodec(chosen.name) ? (media?.rids ?? []) : [],
})

/** The accepted m-lines. */
const linesOf = (offer: SdpOffer, plan: SdpPlan): PublisherLine[] =>
  plan.flatMap((chosen, at) => {
    const media = offer.media[at]
    return chosen === null || media === undefined ? [] : [{ media, chosen }]
  })

/** What a viewer will receive. */
export interface ViewAgreement {
  readonly offer: SdpOffer
  readonly plan: SdpPlan
  readonly wanted: WantedTracks
}

/**
 * `forms`: those of what the viewer asks for, the best first; empty when it is not there. The sound alone is no form of a stream
 * with video.
 */
export function negotiateView(text: string, forms: readonly Source[]): Result<ViewAgreement, OfferRefusal> {
  const offer = parseOffer(text)
  if (!offer.ok) return refused(offer.error)
  const [best, ...others] = forms
  if (best === undefined) return err({ ok: false, status: 409, problem: 'Stream not being published' })
  let agreed = agreeOn(offer.value, best)
  for (const form of others) if (!agreed.ok && form.layers.length > 0) agreed = agreeOn(offer.value, form)
  return agreed
}

function agreeOn(offer: SdpOffer, source: Source): Result<ViewAgreement, OfferRefusal> {
  const wanted = wantedTracksOf(source)
  const plan = planView(offer, wanted)
  return plan.ok ? ok({ offer, plan: plan.value, wanted }) : refused(plan.error)
}

/**
 * Tells whether the same offer would get audio or video of another source that the present one lacks. Undefined: it lacks none, so
 * that the offer need not be kept.
 */
export function gainOf({ offer, plan, wanted }: ViewAgreement): ((source: Source) => boolean) | undefined {
  if (wanted.audio !== null && wanted.video !== null) return undefined
  return (source) => {
    const now = wantedTracksOf(source)
    const hasMore = (['audio', 'video'] as const).some((kind) => wanted[kind] === null && now[kind] !== null)
    const next = hasMore ? planView(offer, now) : null
    return next?.ok === true && next.value.some((chosen, at) => chosen !== null && plan[at] === null)
  }
}

/** How a viewer's m-lines are answered. `downTracks`: the outgoing track of each m-line, null for none. */
export const viewAnswers = (
  { offer, plan, wanted }: ViewAgreement,
  downTracks: readonly ({ readonly options: DownTrackOptions } | null)[],
  cname: string,
): AnsweredMedia[] =>
  plan.map((chosen, at) => {
    const downTrack = downTracks[at] ?? null
    if (chosen === null || downTrack === null) return idleAnswer(offer.media[at], wanted)
    return viewAnswer(chosen, downTrack.options, cname)
  })

function viewAnswer(chosen: ChosenCodec, { ssrc, rtx, kind }: DownTrackOptions, cname: string): AnsweredView {
  const ids = { streamId: 'stream', trackId: kind, cname }
  return { direction: 'sendonly', chosen, ssrc, rtxSsrc: rtx?.ssrc ?? null, ...ids }
}

/** The answer to a viewer's m-line without media: inactive if the stream has no such medium, else rejected. */
export function idleAnswer(media: OfferedMedia | undefined, wanted: WantedTracks): AnsweredIdle | null {
  const chosen = media === undefined ? null : chooseIdle(media, wanted)
  return chosen && { direction: 'inactive', chosen }
}

/** What the viewers of a source must be able to decode. */
function wantedTracksOf({ layers, audio, profile }: Source): WantedTracks {
  const codec = layers[0]?.track.shape.codec
  const video = codec !== undefined && isVideoCodec(codec) ? codec : null
  const sent = audio?.shape.codec
  return {
    video: video && { codec: video, profile },
    audio: sent === undefined ? null : { codec: sent, profile: null },
  }
}
