import type { Negotiated } from '../engine.ts'
import type { VideoCodec } from '../frame.ts'
import type { Source } from './forward/source.ts'
import type { AnsweredIdle } from './wire/sdp/answer.ts'
import { type ChosenCodec, chooseIdle, type WantedTracks } from './wire/sdp/choose.ts'
import type { SdpRefusal } from './wire/sdp/lines.ts'
import type { OfferedMedia } from './wire/sdp/media.ts'
import type { SdpOffer } from './wire/sdp/offer.ts'
import type { SdpPlan } from './wire/sdp/plan.ts'

export const sdpRefused = ({ status, problem }: SdpRefusal): Negotiated => ({ ok: false, status, problem })

export const notServed = (problem: string): Negotiated => ({ ok: false, status: 406, problem })

const CODECS: readonly VideoCodec[] = ['h264', 'vp8', 'vp9', 'av1']

/** Undefined: no codec that is known. */
export const videoCodec = (text: string): VideoCodec | undefined => CODECS.find((codec) => codec === text.toLowerCase())

/** The m-lines of an offer that are accepted. */
export const linesOf = (
  offer: SdpOffer,
  plan: SdpPlan,
): { readonly media: OfferedMedia; readonly chosen: ChosenCodec }[] =>
  plan.flatMap((chosen, at) => {
    const media = offer.media[at]
    return chosen === null || media === undefined ? [] : [{ media, chosen }]
  })

/** `profile-level-id` of the H.264 that was chosen; null for other codecs. */
export const profileIn = (plan: SdpPlan): string | null =>
  plan.find((chosen) => chosen?.name === 'h264')?.codec.fmtp.get('profile-level-id') ?? null

/** The answer to a viewer's line on which nothing is sent: accepted if the stream has no such medium, else rejected. */
export function idleAnswer(media: OfferedMedia | undefined, wanted: WantedTracks): AnsweredIdle | null {
  const chosen = media === undefined ? null : chooseIdle(media, wanted)
  return chosen && { direction: 'inactive', chosen }
}

/** What viewers of a source must be able to take; `profile`: its `profile-level-id`, where that is known. */
export function wantedTracksOf({ layers, audio }: Source, profile: string | null): WantedTracks {
  const codec = layers[0]?.track.shape.codec
  const video = codec === undefined || codec === 'opus' || codec === 'aac' ? null : codec
  return {
    video: video && { codec: video, profileLevelId: profile },
    audio: audio && { codec: 'opus', profileLevelId: null },
  }
}
