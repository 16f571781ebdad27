import type { Socket } from 'node:net'
import type { Context } from '../../../commands/context.ts'
import type { Playbacks } from '../../../services/playbacks.ts'
import type { ServedBytesCounter } from '../../../services/servedBytes.ts'
import type { Grant, PlaybackRules, PlaybackViewer } from '../../../core/channels/playback.ts'
import type { ChannelStream } from '../../../media/hls/channelStream.ts'
import type { SharedHls } from '../hls/parts.ts'
import type { PeerOf } from '../peer.ts'
import { passedBytes } from '../passedBytes.ts'
import type { ViewerAnswer, ViewerRequest } from '../viewerRequest.ts'
import type { GrantViewers } from './grantViewers.ts'

export interface PlaybackOptions {
  readonly playbacks: Playbacks
  readonly served: ServedBytesCounter
  /** The claim of a viewer token that holds its restrictions. */
  readonly claim: () => string
  /** The HLS of an engine; undefined: this node does not run it. */
  readonly streamOf: (engineId: string) => ChannelStream | undefined
  /** A viewer of an engine requests a playlist. The slate of its channel shows while it has no source. */
  readonly viewed: (engineId: string, slateId: string | null) => void
}

/** What is needed to admit and serve viewers of distributions. */
export interface PlaybackParts extends PlaybackOptions, SharedHls {
  readonly ctx: Context
  readonly peerOf: PeerOf
  readonly viewers: GrantViewers
}

/** What the rules look at in a request. */
export function viewerOf({ ctx, peerOf }: PlaybackParts, { socket, headers }: ViewerRequest): PlaybackViewer {
  const address = peerOf(socket.remoteAddress, headers)
  return {
    address,
    country: ctx.countryOf(address),
    referer: headers.referer,
    userAgent: headers['user-agent'],
    nowMs: ctx.clock.now(),
  }
}

/** What is sent, and to whom. */
export interface ServedAnswer {
  readonly rules: PlaybackRules
  readonly grant: Grant
  readonly country: string | null
  /** Bytes of the body. */
  readonly length: number
  /** The playing time of a whole piece, milliseconds, else 0. */
  readonly playsMs: number
}

/** Counts an answer when it is over; for an aborted one, the bytes that Node or the kernel had taken. */
export function countServed({ served }: PlaybackParts, response: ViewerAnswer, answer: ServedAnswer): void {
  const { rules, grant, country, length, playsMs } = answer
  const { id: distributionId, channelId, accountId } = rules.distribution
  const of = { accountId, channelId, distributionId, country: country ?? '', trackingId: grant.trackingId ?? '' }
  const bytesOut = bytesFromNowOn(response.req.socket, length)
  response.on('close', () =>
    served.add({ ...of, bytesOut: bytesOut(), viewedMs: response.writableFinished ? playsMs : 0 }),
  )
}

/** Counts the bytes that are sent on a connection from now on, at most `length`. */
function bytesFromNowOn(socket: Socket, length: number): () => number {
  const before = passedBytes(socket).out
  return () => Math.min(Math.max(0, passedBytes(socket).out - before), length)
}
