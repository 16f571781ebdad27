import {
  alternatives,
  CODECS,
  RTP_AUDIO_CODECS,
  type RtpCodec,
  VIDEO_CODECS,
  type VideoCodec,
  WATCHED_BY,
} from '../../../codecs/codecs.ts'
import { isReceiving, isSending, type WantedTrack, type WantedTracks } from './choose.ts'
import { type SdpFormatProblem, type Flow, formatProblem, codecNameOf, HEVC_MAIN_10 } from './format.ts'
import type { OfferedMedia } from './media.ts'
import type { SdpOffer } from './offer.ts'

type Kind = 'video' | 'audio'

const titlesOf = (codecs: readonly RtpCodec[]): string => alternatives(codecs.map((codec) => CODECS[codec].title))
const SERVED: Readonly<Record<Kind, string>> = { video: titlesOf(VIDEO_CODECS), audio: titlesOf(RTP_AUDIO_CODECS) }

/** Why nothing that an offer sends can be taken, or not the video that it sends or that was asked for. */
export function publishProblem(offer: SdpOffer, wanted: VideoCodec | null, kind: Kind): string {
  const sends = offer.media.filter((media) => media.kind !== 'other' && isSending(media))
  if (sends.length === 0) return 'The offer sends nothing: no audio or video of it is sendonly or sendrecv.'
  const open = sends.filter(({ isOpen }) => isOpen)
  if (open.length === 0) return `The offer sends nothing: ${CLOSED}.`
  if (wanted !== null) return notPublished(open, wanted)
  const wrong = wrongFormat(open, kind, 'publish', null)
  if (wrong !== null) return `The offer sends ${wrong}.`
  const names = namesOf(open, kind)
  const what = names === '' ? `no ${kind} codec that is served` : `${kind} as ${names}, which is not served`
  return `The offer sends ${what}; send ${SERVED[kind]}.`
}

/** Formats that are no codecs: they repeat, repair or mark what another one has. */
const BESIDE = new Set(['rtx', 'red', 'ulpfec', 'flexfec-03', 'telephone-event', 'cn'])
const MAX_NAMES = 4

/** The codecs that an offer names. */
function namesOf(open: readonly OfferedMedia[], kind: Kind): string {
  const codecs = open.filter((media) => media.kind === kind).flatMap((media) => media.codecs)
  const names = new Set(codecs.filter(({ name }) => !BESIDE.has(name)).map(({ name }) => name.toUpperCase()))
  return [...names].slice(0, MAX_NAMES).join(', ')
}

const CLOSED = 'its audio and video are switched off (port 0) or outside of its BUNDLE group'

function notPublished(open: readonly OfferedMedia[], wanted: VideoCodec): string {
  const wrong = wrongFormat(open, 'video', 'publish', wanted)
  return `The offer ${wrong === null ? `does not send ${CODECS[wanted].title} video` : `sends ${wrong}`}.`
}

/** Why an offer gets nothing of a stream, or not all that it asks for. `rest`: what it would get. */
export function viewProblem(offer: SdpOffer, { video, audio }: WantedTracks, rest: Kind | null): string {
  if (video === null && audio === null) return 'The stream has no audio or video that WebRTC can carry.'
  const receives = offer.media.filter((media) => media.kind !== 'other' && isReceiving(media))
  if (receives.length === 0) return 'The offer receives nothing: no audio or video of it is recvonly or sendrecv.'
  const open = receives.filter(({ isOpen }) => isOpen)
  if (open.length === 0) return `The offer receives nothing: ${CLOSED}.`
  if (rest === 'audio') return `${notWatched(open, 'video', video)} To receive the audio only, omit the video.`
  if (rest === 'video') return `${notWatched(open, 'audio', audio)} To receive the video only, omit the audio.`
  return [notWatched(open, 'video', video), notWatched(open, 'audio', audio)].filter(Boolean).join(' ')
}

function notWatched(open: readonly OfferedMedia[], kind: Kind, track: WantedTrack | null): string {
  if (track === null) return ''
  const has = `The stream's ${kind} is ${titleOf(track)}`
  if (open.every((media) => media.kind !== kind)) return `${has}, and the offer does not ask for ${kind}.`
  const wrong = wrongFormat(open, kind, 'view', track.codec)
  const missing = wrong === null ? `${has}, which the offer does not receive.` : `${has}; the offer receives ${wrong}.`
  const browsers = WATCHED_BY[track.codec]
  return browsers === undefined ? missing : `${missing} Browsers that do: ${browsers}.`
}

const titleOf = ({ codec, profile }: WantedTrack): string =>
  `${CODECS[codec].title}${codec === 'hevc' && profile === HEVC_MAIN_10 ? ' with 10 bits' : ''}`

/** The first codec, of this name or any that we know, that is offered in a format that is not served. */
function wrongFormat(open: readonly OfferedMedia[], kind: Kind, flow: Flow, name: RtpCodec | null): string | null {
  for (const { codecs } of open.filter((media) => media.kind === kind)) {
    for (const codec of codecs) {
      const found = codecNameOf(codec, kind)
      const problem = found === null || (name !== null && found !== name) ? null : formatProblem(codec, found, flow)
      if (found !== null && problem !== null) return describe(found, problem)
    }
  }
  return null
}

const describe = (name: RtpCodec, { offered, served }: SdpFormatProblem): string =>
  `${CODECS[name].title} with ${offered}, and only ${served} is served`
