import {
  isVideoCodec,
  RTP_AUDIO_CODECS,
  type RtpAudioFormat,
  rtpAudioFormat,
  type RtpCodec,
  rtpVideoCodec,
} from '../../../codecs/codecs.ts'
import type { OfferedCodec, OfferedMedia } from './media.ts'

/** The codec by the name that SDP gives it, in lower case; `av1x` was AV1 before it was registered and is another format. */
export const codecNameOf = ({ name }: OfferedCodec, kind: OfferedMedia['kind']): RtpCodec | null =>
  (kind === 'audio' ? RTP_AUDIO_CODECS.find((codec) => codec === name) : rtpVideoCodec(name)) ?? null

/** The direction of the media: from a publisher to us, or from us to a viewer. */
export type Flow = 'publish' | 'view'

/** What an offered format has, and what it would have to have. */
export interface SdpFormatProblem {
  readonly offered: string
  readonly served: string
}

/**
 * Why a codec that we know is not served in the format that is offered; null when it is served. VP9 only in profile 0, AV1
 * only in profile main, HEVC in main and main 10.
 */
export function formatProblem(codec: OfferedCodec, name: RtpCodec, flow: Flow): SdpFormatProblem | null {
  const { clockRate, channels, fmtp } = codec
  if (!isVideoCodec(name)) return audioProblem(rtpAudioFormat(name), clockRate, channels)
  if (clockRate !== 90_000) return { offered: `a clock rate of ${clockRate}`, served: 'a clock rate of 90000' }
  if (name === 'h264') return modeProblem(codec, flow)
  if (name === 'vp9') return parameterProblem('profile-id', fmtp.get('profile-id') ?? '0', ['0'])
  if (name === 'av1') return parameterProblem('profile', fmtp.get('profile') ?? '0', ['0'])
  if (name === 'hevc') return hevcProblem(codec)
  return null
}

/** RFC 7587 wants `opus/48000/2`. Without the channels it can mean nothing else. */
function audioProblem(served: RtpAudioFormat, clockRate: number, channels: number): SdpFormatProblem | null {
  if (clockRate === served.clockRate && channels <= served.channels) return null
  return { offered: `${clockRate}/${channels}`, served: `${served.clockRate}/${served.channels}` }
}

/** `packetization-mode` of H.264 as it was offered; null when it was left out, which means 0 (RFC 6184 section 8.1). */
export const modeOf = ({ fmtp }: OfferedCodec): string | null => fmtp.get('packetization-mode') ?? null

/**
 * Publishers may use mode 0 (single NAL units), which we read as well. Viewers get what publishers send, usually FU-A of mode 1.
 * An explicit 0 is believed. A viewer without the parameter, such as GStreamer with its usual caps, still reads FU-A; the
 * answer repeats its format as it is, as RFC 6184 section 8.2.2 demands.
 */
const modeProblem = (codec: OfferedCodec, flow: Flow): SdpFormatProblem | null =>
  parameterProblem('packetization-mode', modeOf(codec) ?? '1', flow === 'publish' ? ['1', '0'] : ['1'])

/** `profile-id` of HEVC: 1 is main, 2 main 10 (RFC 7798 section 7.1). */
export const hevcProfileIdOf = ({ fmtp }: OfferedCodec): string => fmtp.get('profile-id') ?? HEVC_MAIN
const HEVC_MAIN = '1'
export const HEVC_MAIN_10 = '2'

/** One stream of RTP, whose units come in decoding order: packets have no numbers for another one. */
const hevcProblem = (codec: OfferedCodec): SdpFormatProblem | null =>
  parameterProblem('profile-id', hevcProfileIdOf(codec), [HEVC_MAIN, HEVC_MAIN_10]) ??
  parameterProblem('tx-mode', codec.fmtp.get('tx-mode') ?? 'SRST', ['SRST']) ??
  parameterProblem('sprop-max-don-diff', codec.fmtp.get('sprop-max-don-diff') ?? '0', ['0'])

/** Longer values are cut: they are repeated to the sender of the offer. */
const MAX_SHOWN = 20

const parameterProblem = (name: string, value: string, served: readonly string[]): SdpFormatProblem | null =>
  served.includes(value)
    ? null
    : { offered: `${name}=${value.slice(0, MAX_SHOWN)}`, served: `${name}=${served.join(' or ')}` }
