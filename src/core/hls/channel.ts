/** Seconds of a segment of a channel: its encoder makes a keyframe for each. */
export const CHANNEL_SEGMENT_SECONDS = 2

/** How many segments the playlist of a channel lists: 20 seconds. */
export const CHANNEL_SEGMENTS = 10
