import { err, type Result } from '../../base/result.ts'
import { type CodedSentence, type Said, say } from '../../core/notices.ts'
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
export interface FlvProblem extends Said {
  /** `damaged`: only this message. `unsupported`: its codec. */
  readonly kind: 'damaged' | 'unsupported'
}

/** What a message has of one track. Most messages are of track 0 alone; with enhanced RTMP one may have several. */
export interface FlvPart {
  /** 0 to 255; 0 is also the track of messages that name none. */
  readonly trackId: number
  readonly read: Result<FlvPayload, FlvProblem>
}

export const IGNORED: FlvPayload = { kind: 'ignored' }

/** Of a message that names no track. */
export const ofOnlyTrack = (read: FlvPart['read']): FlvPart[] => [{ trackId: 0, read }]

export const damaged = (text: string): Result<never, FlvProblem> => err({ kind: 'damaged', message: text })
export const unsupported = (why: CodedSentence): Result<never, FlvProblem> => err({ kind: 'unsupported', ...say(why) })
