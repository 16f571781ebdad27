import { isInWebRtc } from '../codecs/inWebRtc.ts'
import { rtpAudioTrack, type VideoTrack } from '../frame.ts'
import type { EncodingRoom } from './encodingRoom.ts'

export const OPUS = rtpAudioTrack('opus', 48_000)

const isH264 = ({ codec }: VideoTrack): boolean => codec === 'h264'

/** What it is encoded as; the configuration comes with the conversion. */
export const asH264 = (track: VideoTrack): VideoTrack =>
  isH264(track) ? track : { ...track, codec: 'h264', config: new Uint8Array() }

/** What becomes of the video of a source: `none` takes the audio with it. */
export type Carried = 'copied' | 'encoded' | 'dropped' | 'none'

/** A form in which viewers over WebRTC get a source. */
export interface Form {
  /** Whether video passes as it is, if it has no B-frames. */
  readonly passes: (video: VideoTrack) => boolean
  /** What becomes of other video. */
  readonly otherwise: Exclude<Carried, 'copied'>
}

/** H.264 without B-frames. @param room null: nothing is encoded */
export const forEveryone = (room: EncodingRoom | null): Form => ({
  passes: isH264,
  otherwise: room === null ? 'dropped' : 'encoded',
})

/** Video of another codec as it is. */
export const ORIGINAL: Form = { passes: (video) => !isH264(video) && isInWebRtc(video), otherwise: 'none' }
