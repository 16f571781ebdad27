/**
 * Media as the rooms pass it to one another: whole encoded frames with their times, whatever protocol brought them.
 */

export type VideoCodec = 'h264' | 'vp8' | 'vp9' | 'av1'
export type AudioCodec = 'opus' | 'aac'

export interface VideoTrack {
  readonly kind: 'video'
  readonly codec: VideoCodec
  /** Pixels; 0 until a keyframe has told. */
  readonly width: number
  readonly height: number
  /** H.264: the AVCDecoderConfigurationRecord (ISO/IEC 14496-15); AV1: av1C; empty for codecs that need none. */
  readonly config: Uint8Array
}

export interface AudioTrack {
  readonly kind: 'audio'
  readonly codec: AudioCodec
  /** Hertz: 48000 for Opus. */
  readonly sampleRate: number
  readonly channels: number
  /** AAC: the AudioSpecificConfig (ISO/IEC 14496-3); empty for Opus. */
  readonly config: Uint8Array
}

export type TrackInfo = VideoTrack | AudioTrack

/** One access unit of video, or one packet of audio. */
export interface Frame {
  readonly kind: 'video' | 'audio'
  /** When it is shown, microseconds on a clock that audio and video of a feed share; never negative. */
  readonly timeUs: number
  /** When it is decoded; differs from `timeUs` only where frames are reordered (B-frames). */
  readonly decodeTimeUs: number
  /** A decoder can begin here. Always true of audio. */
  readonly key: boolean
  /** H.264: length-prefixed NAL units (4 bytes each, as in MP4); all others: the bare frame. */
  readonly data: Uint8Array
}

/** Takes the media of one feed. Its methods return at once; a sink that cannot keep up drops, it never holds back. */
export interface FrameSink {
  /** Called first, and again when a track is added or its configuration changes (a keyframe follows). */
  tracks(tracks: readonly TrackInfo[]): void
  frame(frame: Frame): void
  /** No more will come. Called once. */
  end(): void
}

/** Media that can be listened to: every subscriber gets the tracks, then frames from a keyframe on. */
export interface FrameSource {
  /** Returns the function that stops it. A source that has ended calls `end` at once. */
  subscribe(sink: FrameSink): () => void
}

/** Media that costs something to make, which is made only while somebody listens. */
export interface RestingSource extends FrameSource {
  /**
   * Calls `listener` with the tracks that a subscriber would get, as soon as they are known and whenever they change. Wakes
   * nothing. Returns the function that stops it.
   */
  announce(listener: (tracks: readonly TrackInfo[]) => void): () => void
}
