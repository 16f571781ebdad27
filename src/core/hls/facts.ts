/** One frame of a track, ready for a fragmented MP4. Times are ticks of its track. */
export interface Sample {
  readonly dts: number
  readonly pts: number
  readonly duration: number
  /** A decoder can begin here. Always true of audio. */
  readonly key: boolean
  /** Whether a segment begins here. Absent: keyframes decide. */
  readonly beginsSegment?: boolean | undefined
  readonly data: Uint8Array
}

/** A partial segment (draft-pantos-hls-rfc8216bis section 4.4.4.9). Parts are numbered through the rendition. */
export interface PartFact {
  readonly n: number
  /** Seconds. */
  readonly duration: number
  /** It begins with a keyframe. */
  readonly independent: boolean
  readonly bytes: number
}

export interface SegmentFact {
  /** Its media sequence number. */
  readonly n: number
  /** The date of its first frame, epoch milliseconds. */
  readonly startMs: number
  /** Seconds. */
  readonly duration: number
  /** It begins with a keyframe. */
  readonly independent: boolean
  /** The hash in the name of its init segment. */
  readonly init: string
  /** It does not continue the segment before it. */
  readonly discontinuity: boolean
  readonly parts: readonly PartFact[]
  readonly bytes: number
  /** No further part follows. */
  readonly closed: boolean
}

/** What a media playlist says. */
export interface RenditionFacts {
  /** EXT-X-TARGETDURATION, whole seconds: constant. */
  readonly targetSeconds: number
  /** PART-TARGET, seconds: constant. Null: the playlist has no parts. */
  readonly partSeconds: number | null
  /** The discontinuities before the first of `segments`: those of removed segments, and those of earlier runs. */
  readonly discontinuitySequence: number
  /** The oldest first; only the last one may be open. */
  readonly segments: readonly SegmentFact[]
  /** The number of the first segment after all of `segments`. */
  readonly nextSegment: number
  /** The number of the part that comes next. */
  readonly nextPart: number
  readonly ended: boolean
}

/** A resource that a playlist names. `name` is its file name: `init-1a2b3c4d.mp4`, `s7.m4s`, `p31.m4s`. */
export interface PieceKey {
  readonly stream: string
  readonly rendition: string
  readonly kind: 'init' | 'segment' | 'part'
  readonly name: string
}

/** The bytes of init segments, segments and parts. */
export interface SegmentStore {
  /** Keeps an init segment, or a part. */
  put(key: PieceKey, bytes: Buffer): void
  /** Keeps a closed segment with the bytes of these parts; its parts become views of it. */
  close(key: PieceKey, parts: readonly Buffer[], fact: SegmentFact): void
  /** A piece that is in memory; never waits. */
  peek(key: PieceKey): Buffer | undefined
  /** A piece, wherever it is; null when it is gone or never was. */
  read(key: PieceKey): Promise<Buffer | null>
  /** Removes the segments before this number with their parts, and init segments that no segment left uses. */
  forget(stream: string, rendition: string, beforeSegment: number): Promise<void>
}

/** The attributes of a rendition in a master playlist (RFC 8216 section 4.3.4.2). */
export interface VariantFacts {
  readonly rendition: string
  /** The highest and the average bitrate of its segments, bits per second. */
  readonly bandwidth: number
  readonly averageBandwidth: number
  /** RFC 6381 names, the video first, with commas between them; empty when they are not known. */
  readonly codecs: string
  /** Pixels; null when they are not known or there is no video. */
  readonly size: { readonly width: number; readonly height: number } | null
  /** Frames in a second; null without video. */
  readonly frameRate: number | null
  readonly range: VideoRange
  /** Players choose their audio from the tracks of this group. Absent: it has its own. */
  readonly audioGroup?: string
}

/** An audio track that players choose (RFC 8216 section 4.3.4.1). */
export interface AudioTrackFacts {
  readonly group: string
  /** Null: variants have it in their media. */
  readonly rendition: string | null
  readonly language: string
  readonly label: string
  readonly isDefault: boolean
}

/** Standard dynamic range, or one of the two ways to write a high one. */
export type VideoRange = 'SDR' | 'HLG' | 'PQ'
