import type { AbrLadder } from '../channels/types.ts'

type Ladder = Pick<AbrLadder, 'video' | 'audioKbps' | 'audioOnly'>

/** Seconds of a segment of a channel: its encoder makes a keyframe for each. */
export const CHANNEL_SEGMENT_SECONDS = 2

/** How many segments the playlist of a channel lists: 20 seconds. */
export const CHANNEL_SEGMENTS = 10

/** Where a rendition is copied, segments follow the keyframes of the source, and none is longer than this, seconds. */
export const COPY_SEGMENT_MAX_SECONDS = 4

/** The index of the rendition with the audio alone, behind those with video. Null: the ladder has none. */
export const audioOnlyIndexOf = ({ video, audioKbps, audioOnly }: Ladder): number | null =>
  audioOnly && audioKbps !== null ? video.length : null
