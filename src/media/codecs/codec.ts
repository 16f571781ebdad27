/** How the payloads of a video codec are read. Whatever their bytes are, none of this throws. */
export interface VideoReader {
  /** A decoder can begin with the packet of this payload: it holds the first bytes of a keyframe or its parameter sets. */
  isKeyStart(payload: Buffer): boolean
  /** The frame of these payloads, which are all of one timestamp in order. Null when they make none. */
  join(payloads: readonly Buffer[]): JoinedFrame | null
}

export interface JoinedFrame {
  readonly key: boolean
  /** As `Frame.data` of media/frame.ts wants it. */
  readonly data: Buffer
  /** What a keyframe tells of the pictures that follow; null when it does not. */
  readonly picture: VideoFrame | null
}

export interface VideoFrame {
  readonly width: number
  readonly height: number
  /** As `VideoTrack.config` wants it. */
  readonly config: Buffer
}
