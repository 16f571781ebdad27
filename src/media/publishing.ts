import type { Said } from '../core/notices.ts'
import type { AskToMove } from '../core/nodes/drain.ts'
import type { SessionEndReason } from '../core/sessions/endReason.ts'
import type { FrameSink } from './frame.ts'
import type { LinkTotals } from './measure/linkMeter.ts'

/**
 * How often the tracks of a publisher may change. Browsers make their picture smaller or larger in a few steps, and between two
 * recordings that are joined each track changes by itself. With each change conversions start another ffmpeg: twenty at once held up
 * the server for two seconds. Media after a change that comes too soon is left out until there may be one again.
 */
export const TRACK_CHANGES = { burst: 5, perSecond: 1 }
export const CHANGES_TOO_OFTEN =
  'The tracks change more than once a second; media is left out until they may change again'

/** Why a publication is over. */
export type PublishEnd =
  | 'left' // the publisher said goodbye
  | 'lost' // it closed the connection without, it fell silent, or the network failed
  | 'invalid' // its media is unsupported or malformed; the publisher got a status
  | 'cut' // ended from outside
  | 'stopped' // the listener stops

/** The connection of a publisher, whatever its protocol. */
export interface PublisherConnection {
  /** The address of the socket. */
  readonly peer: string
  /**
   * Ends the connection; the publisher reads `why` as the description of a status. Resolves after the last media byte. Safe
   * to call more than once, and while the request is being decided.
   */
  cut(why: string, reason?: SessionEndReason): Promise<void>
  /** Absent: the protocol cannot. */
  readonly askToMove?: AskToMove
}

/** Why a publisher is refused, for protocols that answer with a code. */
export type PublishRefusal =
  | 'address' // nothing can be published there
  | 'unauthorized' // its token or key is none, or none that counts now
  | 'forbidden' // its token does not allow it
  | 'limit' // too many sessions
  | 'unavailable' // this server takes no publishers now

/** Takes the media of a publisher. */
export interface PublishSink extends FrameSink {
  /** @param reason absent: it said no goodbye, as far as is known */
  end(reason?: PublishEnd): void
}

/** The publisher gets `status` unchanged if its protocol has room for words, before the connection closes. */
export type PublishAnswer =
  /** `code`: that of the decision or the limit; absent: there was neither. */
  | { readonly ok: false; readonly status: string; readonly reason: PublishRefusal; readonly code?: string }
  | {
      readonly ok: true
      /** Takes the media; its `end` is called exactly once. */
      readonly sink: PublishSink
      /** Of its audio tracks: see `TsIngestOptions` and `IngestOptions` of RTMP. */
      readonly audioNumbers?: readonly (number | null)[]
      /**
       * Bytes received on the connection so far, at least every second while they grow, and before the end; and its packets, where
       * the protocol counts them.
       */
      bytes(bytesIn: number, link?: LinkTotals): void
      /** After `sink.end`. Exactly once. `why`: what was wrong with what came, without secrets. */
      ended(reason: PublishEnd, why?: Said): void
    }

/** The server that we publish to is about to stop, and goes on at `url`; null: at the same address. */
export interface SenderMove {
  readonly kind: 'moved'
  readonly url: string | null
}

/** How it ended that we published to another server, unless by `end`. Without secrets. */
export type SenderEnd =
  /** It does not take our key. `isInUse`: perhaps because another connection has it. */
  | (Said & { readonly kind: 'refused'; readonly isInUse: boolean })
  | (Said & { readonly kind: 'lost' })
  /** It cannot take this media, or this protocol as we speak it. */
  | (Said & { readonly kind: 'unsuitable' })
