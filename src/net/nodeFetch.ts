import type { Clock } from '../base/clock.ts'
import { startDeadline } from './deadline.ts'

/** What another node of this installation answered. */
export interface NodeAnswer {
  readonly status: number
  readonly caching: string
  readonly body: Buffer
}

/** The answer to a GET, or null when there was none. Never rejects. */
export type FetchFromNode = (url: string) => Promise<NodeAnswer | null>

/** Longer than a node lets a request wait for the beginning of a stream. */
const ANSWER_MAX_MS = 15_000
/** More than a segment holds. */
const BODY_MAX_BYTES = 64 * 1024 * 1024

/**
 * Requests to other nodes of this installation. Their addresses are `server.nodeUrl` of each, which operators choose, so
 * they may be private.
 */
export function nodeFetch(clock: Clock): FetchFromNode {
  return async (url) => {
    const deadline = startDeadline(clock, ANSWER_MAX_MS)
    try {
      const response = await fetch(url, { redirect: 'error', signal: deadline.signal })
      const body = await bodyOf(response)
      const caching = response.headers.get('cache-control') ?? ''
      return body === null ? null : { status: response.status, caching, body }
    } catch {
      return null
    } finally {
      deadline.cancel()
    }
  }
}

/** Null: it is too long. */
async function bodyOf({ body }: Response): Promise<Buffer | null> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > BODY_MAX_BYTES) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
