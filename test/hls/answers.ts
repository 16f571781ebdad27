import { unless, type Violation } from './violation.ts'

/** What is behind an address. `blocking`: a playlist that was requested with `_HLS_msn`. */
export type Kind = 'master' | 'playlist' | 'blocking' | 'media'

/** An answer with status 200 to a GET that named an origin and accepts gzip. */
export interface Answer {
  readonly kind: Kind
  /** The address that answered, after redirections. */
  readonly url: string
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  /** Without its content coding. */
  readonly body: Buffer
}

const PLAYLIST = /^(application\/vnd\.apple\.mpegurl|audio\/mpegurl)\b/i
const MEDIA = /^(video|audio)\/mp4\b/

/** V23 and V24. @param targetSeconds the target duration */
export function checkAnswer(answer: Answer, targetSeconds: number, where: string): Violation[] {
  return [...hasHeaders(answer, where), ...cachesRightly(answer, targetSeconds, where)]
}

function hasHeaders({ kind, headers, body }: Answer, where: string): Violation[] {
  const [type, origin] = [headers.get('content-type') ?? '', headers.get('access-control-allow-origin')]
  const length = headers.get('content-length')
  const isMedia = kind === 'media'
  const expected = isMedia ? MEDIA : PLAYLIST
  return [
    ...unless(expected.test(type), 'V23', `${where} Content-Type`, expected.source, type),
    ...unless(origin !== undefined, 'V23', `${where} Access-Control-Allow-Origin`, 'an origin', origin),
    ...unless(
      !isMedia || length === String(body.length),
      'V23',
      `${where} Content-Length`,
      String(body.length),
      length,
    ),
  ]
}

/** V23. Playlists repeat themselves, so they are sent compressed. A master playlist is too short for that to matter. */
export function checkCompressed(headers: ReadonlyMap<string, string>, where: string): Violation[] {
  const coding = headers.get('content-encoding')
  return unless(coding === 'gzip', 'V23', `${where} Content-Encoding`, 'gzip', coding)
}

/** V23. @param answer to a request for the bytes `from` to `to` of `whole` */
export function checkRange(answer: Answer, whole: Buffer, from: number, to: number, where: string): Violation[] {
  const expected = `bytes ${from}-${to}/${whole.length}`
  const range = answer.headers.get('content-range')
  const isRight = answer.body.equals(whole.subarray(from, to + 1))
  return [
    ...unless(
      answer.status === 206 && range === expected,
      'V23',
      `${where} Range`,
      `206 ${expected}`,
      `${answer.status} ${range}`,
    ),
    ...unless(isRight, 'V23', `${where} Range`, 'these bytes', 'others'),
  ]
}

/** Seconds for which any cache may keep the answer. */
function freshSeconds(control: string): number {
  if (/no-store|no-cache/.test(control)) return 0
  return Number(/s-maxage=(\d+)/.exec(control)?.[1] ?? /max-age=(\d+)/.exec(control)?.[1] ?? Number.NaN)
}

/**
 * V24. A master playlist is one viewer's. A playlist is out of date within half a target duration, the answer to a blocking
 * request after six (draft-pantos-hls-rfc8216bis section 6.2.5). Media never changes under its address.
 */
function cachesRightly({ kind, headers }: Answer, targetSeconds: number, where: string): Violation[] {
  const control = headers.get('cache-control') ?? ''
  const fresh = freshSeconds(control)
  const at = `${where} Cache-Control`
  if (kind === 'master') return unless(/no-store/.test(control), 'V24', at, 'no-store', control)
  const most = targetSeconds * (kind === 'blocking' ? 6 : 0.5)
  if (kind !== 'media') return unless(fresh <= most, 'V24', at, `at most ${most} s`, control)
  return unless(
    fresh >= targetSeconds && !/private/.test(control),
    'V24',
    at,
    `public, at least ${targetSeconds} s`,
    control,
  )
}

/** V24. Soon there may be something under this address. */
export function checkMissing({ status, headers }: Answer, where: string): Violation[] {
  const control = headers.get('cache-control') ?? ''
  const holds = status !== 404 || freshSeconds(control) <= 1
  return unless(holds, 'V24', `${where} Cache-Control of a 404`, 'at most 1 s', control)
}

/** V25 */
export function checkSameBytes(first: Buffer, second: Buffer, where: string): Violation[] {
  return unless(
    first.equals(second),
    'V25',
    where,
    `the same ${first.length} bytes for all viewers`,
    `${second.length} others`,
  )
}
