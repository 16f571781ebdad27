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

/** The keys are the names of RTP in lower case, where it has one. `rtp`: WebRTC carries it, with a clock of 90 kHz. */
const VIDEO = {
  h264: { title: 'H264', rtp: true, matroska: 'V_MPEG4/ISO/AVC', needsConfig: true, inHls: 'always', inMp4: true },
  vp8: { title: 'VP8', rtp: true, matroska: 'V_VP8', needsConfig: false, inHls: 'never', inMp4: false },
  vp9: { title: 'VP9', rtp: true, matroska: 'V_VP9', needsConfig: false, inHls: 'requested', inMp4: true },
  av1: { title: 'AV1', rtp: true, matroska: 'V_AV1', needsConfig: false, inHls: 'requested', inMp4: true },
  hevc: { title: 'HEVC', rtp: false, matroska: 'V_MPEGH/ISO/HEVC', needsConfig: true, inHls: 'requested', inMp4: true },
} as const satisfies Record<string, CodecFacts & { rtp: boolean }>

/** `pcma` and `pcmu` are G.711, of telephones and IP cameras. `rtp` is null where WebRTC does not carry the codec. */
const AUDIO = {
  opus: { title: 'Opus', rtp: OPUS, matroska: 'A_OPUS', needsConfig: false, inHls: 'requested', inMp4: false },
  pcma: { title: 'PCMA', rtp: g711('PCMA'), matroska: 'A_MS/ACM', needsConfig: false, inHls: 'never', inMp4: false },
  pcmu: { title: 'PCMU', rtp: g711('PCMU'), matroska: 'A_MS/ACM', needsConfig: false, inHls: 'never', inMp4: false },
  aac: { title: 'AAC', rtp: null, matroska: 'A_AAC', needsConfig: true, inHls: 'always', inMp4: true },
} as const satisfies Record<string, CodecFacts & { rtp: RtpAudioFormat | null }>

export type VideoCodec = keyof typeof VIDEO
export type AudioCodec = keyof typeof AUDIO
/** Codecs that WebRTC carries. */
export type RtpVideoCodec = { [C in VideoCodec]: (typeof VIDEO)[C]['rtp'] extends true ? C : never }[VideoCodec]
export type RtpAudioCodec = { [C in AudioCodec]: (typeof AUDIO)[C]['rtp'] extends null ? never : C }[AudioCodec]
export type RtpCodec = RtpVideoCodec | RtpAudioCodec

export const CODECS: Readonly<Record<VideoCodec | AudioCodec, CodecFacts>> = { ...VIDEO, ...AUDIO }
export const VIDEO_CODECS = Object.keys(VIDEO) as readonly VideoCodec[]
export const AUDIO_CODECS = Object.keys(AUDIO) as readonly AudioCodec[]
export const RTP_VIDEO_CODECS = VIDEO_CODECS.filter((codec): codec is RtpVideoCodec => VIDEO[codec].rtp)
export const RTP_AUDIO_CODECS = AUDIO_CODECS.filter((codec): codec is RtpAudioCodec => AUDIO[codec].rtp !== null)

export const isVideoCodec = (codec: VideoCodec | AudioCodec): codec is VideoCodec => codec in VIDEO

/** As SDP writes it. */
export const rtpName = (codec: RtpCodec): string => (isVideoCodec(codec) ? VIDEO[codec].title : AUDIO[codec].rtp.name)

export const rtpAudioFormat = (codec: RtpAudioCodec): RtpAudioFormat => AUDIO[codec].rtp

/** `a, b or c`. */
export const alternatives = (names: readonly string[]): string => names.join(', ').replace(/, ([^,]*)$/, ' or $1')
