import { type AudioCodec, CODECS, type RtpAudioCodec, rtpAudioFormat, type VideoCodec } from './codecs/codecs.ts'

/**
 * Media inside Sluice, independent of the protocol that carried it: whole encoded frames with their timestamps.
 */

interface Track {
  /** What its publisher says that it keeps to, bits per second. Absent: it does not say. */
  readonly declaredBitrate?: number
}

export interface VideoTrack extends Track {
  readonly kind: 'video'
  readonly codec: VideoCodec
  /** Pixels; 0 until the first keyframe. */
  readonly width: number
  readonly height: number
  /**
   * H.264 and HEVC: the decoder configuration record (ISO/IEC 14496-15); AV1: av1C; VP9: VPCodecConfigurationRecord; empty for
   * VP8.
   */
  readonly config: Uint8Array
  /** As of its frames. */
  readonly layer?: string
}

export interface AudioTrack extends Track {
  readonly kind: 'audio'
  readonly codec: AudioCodec
  /** Hertz: 48000 for Opus, 8000 for G.711. */
  readonly sampleRate: number
  readonly channels: number
  /** AAC: the AudioSpecificConfig (ISO/IEC 14496-3); empty for the others. */
  readonly config: Uint8Array
  /** As of its frames. */
  readonly audioIndex?: number
}

/** What WebRTC carries: Opus is stereo, whatever a packet has; G.711 is mono. @param sampleRate hertz */
export const rtpAudioTrack = (codec: RtpAudioCodec, sampleRate: number): AudioTrack => ({
  kind: 'audio',
  codec,
  sampleRate,
  channels: rtpAudioFormat(codec).channels,
  config: new Uint8Array(),
})

export type TrackInfo = VideoTrack | AudioTrack

/** Whether a decoder can read frames of the track: some codecs need its configuration, which may come later. */
export const isDescribed = ({ codec, config }: TrackInfo): boolean => !CODECS[codec].needsConfig || config.length > 0

/** One access unit of video, or one packet of audio. */
export interface Frame {
  readonly kind: 'video' | 'audio'
  /**
   * Of several audio tracks, which only sources of channels have: the index of this one in the list of its ingest. Absent: the
   * first one, or the only one.
   */
  readonly audioIndex?: number
  /** Of video in several sizes: the name of this one, which is unique among them. Absent: there is one. */
  readonly layer?: string
  /** Presentation time, microseconds on a clock that audio and video of a feed share; never negative. */
  readonly timeUs: number
  /** Decode time, microseconds; differs from `timeUs` only in video with B-frames. */
  readonly decodeTimeUs: number
  /** A decoder can begin here. Always true of audio. */
  readonly key: boolean
  /** The source has set its clock before this frame. Its time goes on with the arrival, so it is only about right. */
  readonly isJump?: boolean
  /** Its timestamp stands still or goes back, so that Sluice has given it a time. */
  readonly isRetimed?: boolean
  /** How long before now all of it had come, milliseconds: its end was seen late. Absent: it has just come. */
  readonly waitedMs?: number
  /** Of renditions that are cut together: whether a segment begins here. Absent: the keyframes decide. */
  readonly beginsSegment?: boolean
  /** H.264 and HEVC: length-prefixed NAL units (4 bytes each, as in MP4); all others: the bare frame. */
  readonly data: Uint8Array
}

/** Tells the tracks of a source apart, by themselves or by their frames. */
export const trackKey = ({ kind, audioIndex = 0 }: Pick<Frame, 'kind' | 'audioIndex'>): string =>
  kind === 'video' || audioIndex === 0 ? kind : `${kind} ${audioIndex}`

/** The tracks that a broadcast has: its video, and the first audio. */
export const mainTracks = (tracks: readonly TrackInfo[]): TrackInfo[] =>
  tracks.filter((track) => track.kind === 'video' || track.audioIndex === undefined)

/** Takes the media of one feed. Its methods return at once; a sink that cannot keep up drops frames and never blocks. */
export interface FrameSink {
  /** It takes all layers of the video. Absent: the main one alone, which is the first in the list of tracks. */
  readonly takesLayers?: true
  /** Called first, and again when a track is added or its configuration changes (a keyframe follows). */
  tracks(tracks: readonly TrackInfo[]): void
  frame(frame: Frame): void
  /** The media is over. Called once. */
  end(): void
}

/** For a sink that passes everything on to another one: what it says that it takes. */
export const takesAs = ({ takesLayers }: Pick<FrameSink, 'takesLayers'>): Pick<FrameSink, 'takesLayers'> =>
  takesLayers === true ? { takesLayers } : {}

/** Media with subscribers: each gets the tracks, then frames from a keyframe on. */
export interface FrameSource {
  /** Returns the function that unsubscribes. A source that has ended calls `end` at once. */
  subscribe(sink: FrameSink): () => void
}

/** Media that is expensive to produce, so it is produced only while it has subscribers. */
export interface RestingSource extends FrameSource {
  /**
   * Calls `listener` with the tracks that a subscriber would get, as soon as they are known and whenever they change. Does
   * not start production. Returns the function that unsubscribes.
   */
  announce(listener: (tracks: readonly TrackInfo[]) => void): () => void
}
