import type { Clock } from '../base/clock.ts'
import { type NodeAnswer, PLAYS_MS } from '../core/hls/nodes.ts'
import { startDeadline } from './deadline.ts'

/** Longer than a node lets a request wait for the beginning of a stream. */
const ANSWER_MAX_MS = 15_000
/** More than a segment holds. */
const BODY_MAX_BYTES = 64 * 1024 * 1024
/** No segment plays longer. */
const PIECE_MAX_MS = 60_000
/** Answers with JSON have a few kilobytes. Whatever listens at the address of a node could send one that takes a second to parse. */
const JSON_MAX_BYTES = 64 * 1024

/**
 * Sends a GET to another node of this installation. The function returns null when there was no answer, and never rejects.
 * Addresses of nodes are `server.nodeUrl` of each, which operators choose, so
 * they may be private.
 */
export function nodeFetch(clock: Clock): (url: string) => Promise<NodeAnswer | null> {
  return async (url) => {
    const deadline = startDeadline(clock, ANSWER_MAX_MS)
    try {
      const ask = () => fetch(url, { redirect: 'error', signal: deadline.signal })
      const response = await ask().catch((error: unknown) => (isClosed(error) ? ask() : Promise.reject(error)))
      const body = await bodyOf(response, BODY_MAX_BYTES)
      const caching = response.headers.get('cache-control') ?? ''
      const playsMs = playsMsOf(response.headers.get(PLAYS_MS))
      return body === null ? null : { status: response.status, caching, playsMs, body }
    } catch {
      return null
    } finally {
      deadline.cancel()
    }
  }
}

/**
 * Sends JSON to another node of this installation. The function returns null when there was no answer with JSON in time, and never
 * rejects.
 */
export function postToNode(
  clock: Clock,
): (url: string, body: object, ms: number) => Promise<{ status: number; body: unknown } | null> {
  return async (url, body, ms) => {
    const deadline = startDeadline(clock, ms)
    const headers = { 'content-type': 'application/json' }
    try {
      const request = { method: 'POST', headers, body: JSON.stringify(body) } as const
      const response = await fetch(url, { ...request, redirect: 'error', signal: deadline.signal })
      const answered = await bodyOf(response, JSON_MAX_BYTES)
      return answered && { status: response.status, body: JSON.parse(answered.toString()) as unknown }
    } catch {
      return null
    } finally {
      deadline.cancel()
    }
  }
}

/**
 * The connection was closed before the answer, as the other node does with one that has been idle: a GET may be sent again
 * (RFC 9112 section 9.3.1).
 */
function isClosed(error: unknown): boolean {
  const { code = '' } = ((error as Error).cause ?? {}) as { readonly code?: string }
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(code)
}

/** It is billed, so whatever another server says there stays a time that a piece may have. */
const playsMsOf = (text: string | null): number => Math.min(PIECE_MAX_MS, Math.max(0, Number(text) || 0))

/** Null: it is too long. */
async function bodyOf({ body }: Response, maxBytes: number): Promise<Buffer | null> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > maxBytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
