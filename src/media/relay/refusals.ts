import type { LayersAnswer, Negotiated, Patched } from '../engine.ts'

/** What the engine and its processes answer in place of a session. */
export const FULL: Negotiated = { ok: false, status: 503, problem: 'The media server is full; come again later.' }
export const TRY_AGAIN: Negotiated = {
  ok: false,
  status: 503,
  problem: 'The media server is starting again; come back in a moment.',
}
export const TOO_BUSY = {
  ok: false,
  status: 503,
  problem: 'The media server is too busy to answer; come back in a moment.',
} as const
export const NO_SESSION: Patched = { ok: false, status: 404, problem: 'There is no such session.' }
export const NO_VIEWER: LayersAnswer = { ok: false, status: 404, problem: 'There is no such viewer.' }
export const NO_PRECONDITION =
  'Precondition Required: send If-Match with the ETag, or * to restart ICE; without it only candidates of the current a=ice-ufrag are taken'
