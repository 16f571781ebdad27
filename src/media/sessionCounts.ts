import { Tally } from '../base/tally.ts'

/** Counts since the start of this process, for metrics. */
export class SessionCounts {
  /** By action and protocol. */
  readonly admitted = new Tally()
  /** By code. */
  readonly refused = new Tally()
  /** By reason. */
  readonly ended = new Tally()
  bytesIn = 0
  bytesOut = 0
  /** To viewers of channels and to targets of restreams; not in `bytesOut`. */
  otherBytesOut = 0
  /** When a viewer of a channel got something last, epoch milliseconds; 0: never. They have no sessions. */
  channelsSentAtMs = 0
  /** Reported by caches from their logs; not in `bytesOut`. */
  bytesFromCaches = 0
  /** Tickets in reports of caches that counted for no session, by reason. */
  readonly cacheTickets = new Tally()
  /** Rows with bytes that were written to the store, and how long the latest round of them took, milliseconds. */
  writtenRows = 0
  writingMs = 0
  /** Called when the edge has cut a session that this node ended, with the time since it was asked to. Set by what measures it. */
  onCut: ((ms: number) => void) | null = null
  /** The same for all sessions that one change or request ended, with the time since that, when the last one is cut. */
  onLastCut: ((ms: number) => void) | null = null
}
