/** Reads the RTP payloads of a video codec. Never throws, whatever the bytes are. */
export interface VideoReader {
  /** True when a decoder can begin with this packet: it holds the first bytes of a keyframe or its parameter sets. */
  isKeyStart(payload: Buffer): boolean
  /** Joins the payloads of one timestamp, in order, into a frame. Null when they do not form one. */
  join(payloads: readonly Buffer[]): JoinedFrame | null
}

export interface JoinedFrame {
  readonly key: boolean
  /** In the format of `Frame.data` in media/frame.ts. */
  readonly data: Buffer
  /** Size and configuration that a keyframe carries for the frames that follow; null when it carries none. */
  readonly format: VideoFormat | null
}

export interface VideoFormat {
  readonly width: number
  readonly height: number
  /** In the format of `VideoTrack.config`. */
  readonly config: Buffer
}
