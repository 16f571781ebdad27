import { err, type Result } from '../../base/result.ts'
import type { AudioTrack, VideoTrack } from '../frame.ts'

/**
 * The payload of an audio or video message (Adobe FLV 10.1, annex E.4). An `ignored` one carries no media: seek
 * information, an end of sequence, an empty audio packet, and the empty configuration that ffmpeg's FLV muxer writes for
 * H.264 in Annex B and AAC in ADTS before it knows the real one.
 */
export type FlvPayload =
  /** `lengthBytes`: of the lengths before NAL units; null: frames have none, and keyframes describe the track. */
  | { readonly kind: 'track'; readonly track: VideoTrack; readonly lengthBytes: number | null }
  | { readonly kind: 'track'; readonly track: AudioTrack }
  | ({ readonly kind: 'video'; readonly key: boolean; readonly compositionMs: number } & FlvData)
  /** G.711 and Opus need no configuration: `track` is what the message says itself. */
  | ({ readonly kind: 'audio'; readonly track?: AudioTrack } & FlvData)
  | { readonly kind: 'ignored' }

interface FlvData {
  readonly data: Buffer
  /** Added to the time of the message, which has whole milliseconds. */
  readonly offsetUs?: number
}

/** What is wrong with a message, in a sentence for the operator of the publisher. */
export interface FlvProblem {
  /** `damaged`: only this message. `unsupported`: its codec. `further`: a track beside the first one of its kind. */
  readonly kind: 'damaged' | 'unsupported' | 'further'
  readonly text: string
}

export const IGNORED: FlvPayload = { kind: 'ignored' }

export const damaged = (text: string): Result<never, FlvProblem> => err({ kind: 'damaged', text })
export const unsupported = (text: string): Result<never, FlvProblem> => err({ kind: 'unsupported', text })
