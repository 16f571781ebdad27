import type { IncomingMessage, ServerResponse } from 'node:http'

/**
 * Answers one frequent kind of request without the framework. True when it has answered. It leaves every other request
 * untouched, so that refusals and rare cases are answered in one place, the framework's route.
 */
export type FastPath = (request: IncomingMessage, response: ServerResponse) => boolean

export interface FastPathOptions {
  readonly requestId: () => string
  /** Counts an answer. */
  readonly answered: (method: string, route: string, status: number) => void
}

/** A connection closes after this time without a request. */
export const KEEP_ALIVE_MS = 72_000
