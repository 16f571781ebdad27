import { coded, type CodedSentence } from '../../core/notices.ts'

/** What is known of a codec. The files beside this one read its packets and frames. */
interface CodecFacts {
  /** As messages to publishers and viewers write it. */
  readonly title: string
  /** The CodecID of Matroska. */
  readonly matroska: string
  /** A decoder needs the `config` of the track. */
  readonly needsConfig: boolean
  /** Whether HLS has it as it is: always, only where the codecs of the publisher are requested, or never. */
  readonly inHls: 'always' | 'requested' | 'never'
  /** Recordings have it as it is, because browsers play it from MP4. */
  readonly inMp4: boolean
}

/** The encoding name of `a=rtpmap`, its clock in hertz, and the most channels. */
export interface RtpAudioFormat {
  readonly name: string
  readonly clockRate: number
  readonly channels: number
}

/** RFC 7587: always stereo in SDP, whatever a packet has. */
const OPUS: RtpAudioFormat = { name: 'opus', clockRate: 48_000, channels: 2 }
const g711 = (name: string): RtpAudioFormat => ({ name, clockRate: 8000, channels: 1 })

/** The keys name the codec. `rtp`: the encoding name of `a=rtpmap`; its clock has 90 kHz. */
const VIDEO = {
  h264: { title: 'H264', rtp: 'H264', matroska: 'V_MPEG4/ISO/AVC', needsConfig: true, inHls: 'always', inMp4: true },
  vp8: { title: 'VP8', rtp: 'VP8', matroska: 'V_VP8', needsConfig: false, inHls: 'never', inMp4: false },
  vp9: { title: 'VP9', rtp: 'VP9', matroska: 'V_VP9', needsConfig: false, inHls: 'requested', inMp4: true },
  av1: { title: 'AV1', rtp: 'AV1', matroska: 'V_AV1', needsConfig: false, inHls: 'requested', inMp4: true },
  hevc: {
    title: 'HEVC',
    rtp: 'H265',
    matroska: 'V_MPEGH/ISO/HEVC',
    needsConfig: true,
    inHls: 'requested',
    inMp4: true,
  },
} as const satisfies Record<string, CodecFacts & { rtp: string }>

/** `pcma` and `pcmu` are G.711, of telephones and IP cameras. `rtp` is null where WebRTC does not carry the codec. */
const AUDIO = {
  opus: { title: 'Opus', rtp: OPUS, matroska: 'A_OPUS', needsConfig: false, inHls: 'requested', inMp4: false },
  pcma: { title: 'PCMA', rtp: g711('PCMA'), matroska: 'A_MS/ACM', needsConfig: false, inHls: 'never', inMp4: false },
  pcmu: { title: 'PCMU', rtp: g711('PCMU'), matroska: 'A_MS/ACM', needsConfig: false, inHls: 'never', inMp4: false },
  aac: { title: 'AAC', rtp: null, matroska: 'A_AAC', needsConfig: true, inHls: 'always', inMp4: true },
} as const satisfies Record<string, CodecFacts & { rtp: RtpAudioFormat | null }>

export type VideoCodec = keyof typeof VIDEO
export type AudioCodec = keyof typeof AUDIO
/** The audio that WebRTC carries. */
export type RtpAudioCodec = { [C in AudioCodec]: (typeof AUDIO)[C]['rtp'] extends null ? never : C }[AudioCodec]
export type RtpCodec = VideoCodec | RtpAudioCodec

export const CODECS: Readonly<Record<VideoCodec | AudioCodec, CodecFacts>> = { ...VIDEO, ...AUDIO }
export const VIDEO_CODECS = Object.keys(VIDEO) as readonly VideoCodec[]
export const AUDIO_CODECS = Object.keys(AUDIO) as readonly AudioCodec[]
export const RTP_AUDIO_CODECS = AUDIO_CODECS.filter((codec): codec is RtpAudioCodec => AUDIO[codec].rtp !== null)

export const isVideoCodec = (codec: VideoCodec | AudioCodec): codec is VideoCodec => codec in VIDEO

/** As SDP writes it. */
export const rtpName = (codec: RtpCodec): string => (isVideoCodec(codec) ? VIDEO[codec].rtp : AUDIO[codec].rtp.name)

/** By the name of SDP in lower case; undefined: an unknown codec. */
export const rtpVideoCodec = (name: string): VideoCodec | undefined =>
  VIDEO_CODECS.find((codec) => VIDEO[codec].rtp.toLowerCase() === name)

/** The names of SDP in lower case. */
export const RTP_VIDEO_NAMES: readonly string[] = VIDEO_CODECS.map((codec) => VIDEO[codec].rtp.toLowerCase())

/** The browsers that watch a codec over WebRTC, where not all do. */
export const WATCHED_BY: Readonly<Partial<Record<RtpCodec, string>>> = {
  av1: 'Chrome, Edge and Firefox, and Safari where the device has a decoder',
  hevc: 'Safari from version 18 on, and Chrome and Edge from 136 on where the device has a decoder',
}

export const rtpAudioFormat = (codec: RtpAudioCodec): RtpAudioFormat => AUDIO[codec].rtp

/** Why a codec is not taken. @param titles of those that are */
export function unsupportedCodec(kind: 'video' | 'audio', codec: string, titles: readonly string[]): CodedSentence {
  const [supported, last] = [titles.slice(0, -1).join(', '), titles.at(-1) ?? '']
  if (supported === '') return coded(`${kind}_codec_only`, { codec, supported: last })
  return coded(`${kind}_codec_unsupported`, { codec, supported, last })
}

/** `a, b or c`. */
export const alternatives = (names: readonly string[]): string => names.join(', ').replace(/, ([^,]*)$/, ' or $1')
