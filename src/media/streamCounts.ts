import { isViewProtocol, type ViewProtocol } from '../core/access/protocols.ts'
import type { Session } from '../core/sessions/types.ts'
import { streamIdOf, type StreamRef } from '../core/streams/streamId.ts'

/** The viewers of a stream at this node, the bytes of its publishers (in) and those to its viewers (out). */
export interface StreamCount extends Record<ViewProtocol, number>, StreamRef {
  /** Publishers and viewers. */
  sessions: number
  bytesIn: number
  bytesOut: number
}

/** Totals of an account at this node, since the process started. */
export interface AccountCount {
  viewers: number
  bytesIn: number
  bytesOut: number
}

/**
 * Counts by stream and by account, kept while sessions come, go and move bytes, so that a summary costs one step for each
 * stream and none for a session. A stream that lost its last session stays until `forgetEmpty`, because its last bytes
 * may not have been looked at. Accounts are few and are never deleted.
 */
export class StreamCounts {
  readonly #streams = new Map<string, StreamCount>()
  readonly #accounts = new Map<string, AccountCount>()
  readonly #emptied = new Set<string>()

  all(): IterableIterator<Readonly<StreamCount>> {
    return this.#streams.values()
  }

  /** The counts of a stream; undefined: it has no session at this node. */
  of(accountId: string, streamName: string): Readonly<StreamCount> | undefined {
    return this.#streams.get(streamIdOf({ accountId, streamName }))
  }

  accounts(): IterableIterator<[accountId: string, count: Readonly<AccountCount>]> {
    return this.#accounts.entries()
  }

  /** A session begins (`by` is 1) or is over (-1). */
  change(session: Session, by: 1 | -1): void {
    const { accountId, streamName } = session
    const key = streamIdOf({ accountId, streamName })
    const zeros = { sessions: 0, whep: 0, hls: 0, bytesIn: 0, bytesOut: 0 }
    const count = this.#streams.get(key) ?? { accountId, streamName, ...zeros }
    count.sessions += by
    if (session.action === 'view') {
      if (isViewProtocol(session.protocol)) count[session.protocol] += by
      this.#account(session.accountId).viewers += by
    }
    this.#streams.set(key, count)
    if (count.sessions === 0) this.#emptied.add(key)
  }

  /** Forgets the streams that have no session now. Call it when their bytes have been looked at. */
  forgetEmpty(): void {
    for (const key of this.#emptied) if (this.#streams.get(key)?.sessions === 0) this.#streams.delete(key)
    this.#emptied.clear()
  }

  /**
   * A session has moved more bytes. Those of previews count for nothing, nor do the reports that a publisher is sent and
   * those that a viewer sends.
   */
  moved({ action, accountId, streamName }: Session, received: number, sent: number): void {
    if (action === 'preview') return
    const [bytesIn, bytesOut] = action === 'publish' ? [received, 0] : [0, sent]
    const account = this.#account(accountId)
    account.bytesIn += bytesIn
    account.bytesOut += bytesOut
    const count = this.#streams.get(streamIdOf({ accountId, streamName }))
    if (count === undefined) return
    count.bytesIn += bytesIn
    count.bytesOut += bytesOut
  }

  #account(accountId: string): AccountCount {
    const known = this.#accounts.get(accountId)
    if (known !== undefined) return known
    const fresh = { viewers: 0, bytesIn: 0, bytesOut: 0 }
    this.#accounts.set(accountId, fresh)
    return fresh
  }
}
