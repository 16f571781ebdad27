import type { IncomingHttpHeaders } from 'node:http'
import { isoTime } from '../base/time.ts'
import { jsonText, printable } from './print.ts'

/** A verified callback, or an invalid one with the reason. */
export type Callback = Verified | ListenRefusal

interface Verified {
  /** When it was received, epoch milliseconds. */
  readonly at: number
  /** `webhook-id`; null when the sender uses only the older signature. */
  readonly id: string | null
  readonly headers: IncomingHttpHeaders
  readonly headerPrefix: string
  readonly body: Buffer
}

interface ListenRefusal {
  readonly at: number
  readonly reason: Reason
  readonly bytes: number
}

type Reason = keyof typeof REASONS

const REASONS = {
  missing_signature: 'it is not signed',
  wrong_signature: 'it is signed with another secret, or was changed in transit',
  too_old: 'it was signed more than five minutes ago: a repeated request, or a clock that is wrong',
  too_new: 'it was signed more than five minutes in the future: a clock is wrong',
  too_large: 'its body is larger than any callback',
} as const

/** The form for `--json`. */
export function reported(callback: Callback): object {
  const at = isoTime(callback.at)
  if ('reason' in callback) return { at, verified: false, reason: callback.reason, bytes: callback.bytes }
  const id = callback.id === null ? {} : { id: callback.id }
  const payload = payloadOf(callback)
  return { at, verified: true, ...id, ...(payload === undefined ? { thumbnail: thumbnailOf(callback) } : { payload }) }
}

/** The form for a terminal: a title line, then the content. */
export function reportText(callback: Callback): string {
  const at = isoTime(callback.at)
  if ('reason' in callback) return `${at}  refused (${callback.bytes} bytes): ${REASONS[callback.reason]}`
  const payload = payloadOf(callback)
  const title = payload === undefined ? 'thumbnail' : titleOf(payload)
  const id = callback.id === null ? '' : `  ${callback.id}`
  const content = jsonText(payload ?? thumbnailOf(callback))
  return [`${at}  ${title}${id}`, ...content.split('\n')].map(printable).join('\n')
}

function titleOf(payload: unknown): string {
  const { type, event } = Object(payload) as { type?: unknown; event?: unknown }
  return typeof type === 'string' && typeof event === 'string' ? `${type} ${event}` : 'a callback without a type'
}

/** The JSON of a callback; undefined when its body is an image. */
function payloadOf({ body, headers }: Verified): unknown {
  if (headers['content-type']?.startsWith('application/json') !== true) return undefined
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}

/** Describes an image: its size and its headers. */
function thumbnailOf({ body, headers, headerPrefix }: Verified): object {
  const ours = Object.entries(headers).filter(([name]) => name.startsWith(headerPrefix.toLowerCase()))
  return { bytes: body.length, contentType: headers['content-type'], headers: Object.fromEntries(ours) }
}
