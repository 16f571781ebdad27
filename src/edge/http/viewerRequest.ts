import type { Socket } from 'node:net'

/** What decisions about viewers may look at in a request. The addon reads these headers and no others. */
export interface ViewerRequest {
  readonly url?: string | undefined
  readonly socket: Socket
  readonly headers: ViewerHeaders
}

type ViewerHeaders = {
  readonly origin?: string | undefined
  readonly referer?: string | undefined
  readonly 'user-agent'?: string | undefined
  readonly 'x-forwarded-for'?: string | string[] | undefined
  readonly 'cmcd-request'?: string | string[] | undefined
  readonly 'cmcd-status'?: string | string[] | undefined
}

/** An answer to a viewer that is under way: Node's, or one that the addon sends. */
export interface ViewerAnswer {
  readonly req: ViewerRequest
  /** All of it has left. */
  readonly writableFinished: boolean
  /** It is over, or its connection is closed. */
  on(event: 'close', listener: () => void): unknown
  /** Closes its connection. */
  destroy(): unknown
}
