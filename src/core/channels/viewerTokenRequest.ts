import type { Result } from '../../base/result.ts'
import { parseCountry } from '../access/country.ts'
import type { FieldErrors } from '../errors.ts'
import { type BodyReader, readShape } from '../validation/bodyReader.ts'
import { checkPlainText } from '../validation/text.ts'
import { Problems } from '../validation/problems.ts'
import type { Device } from './device.ts'
import { SignViewerToken, VIEWER_TOKEN_SECONDS } from './distributionSchema.ts'
import { instant } from '../validation/moments.ts'
import { readEach } from '../validation/readEach.ts'

/** A viewer token to sign. Null: no such restriction. */
export interface ViewerTokenRequest {
  readonly expiresInSeconds: number
  readonly notBeforeMs: number | null
  readonly trackingId: string | null
  readonly countries: readonly string[] | null
  readonly devices: readonly Device[] | null
}

export function readSignViewerToken(body: unknown): Result<ViewerTokenRequest, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(SignViewerToken, body, problems)
  const trackingId = reader.value('trackingId')
  checkPlainText('trackingId', trackingId, problems)
  return problems.settle({
    expiresInSeconds: reader.value('expiresInSeconds') ?? VIEWER_TOKEN_SECONDS.default,
    notBeforeMs: readNotBefore(reader),
    trackingId: trackingId ?? null,
    countries: readEach(reader, 'countries', parseCountry) ?? null,
    devices: reader.value('devices') ?? null,
  })
}

/** Tokens with times that are later by far are refused. */
const YEAR_3000_MS = 32_503_680_000_000

function readNotBefore(reader: BodyReader<{ notBefore?: string | null }>): number | null {
  const text = reader.value('notBefore')
  if (text === undefined) return null
  const read = instant(text)
  if (read.ok && read.value < YEAR_3000_MS) return read.value
  reader.problems.add('notBefore', read.ok ? 'must be before the year 3000' : read.error)
  return null
}

/** The claims of the token, and when it expires. Tokens count whole seconds. */
export function viewerTokenClaims(
  { expiresInSeconds, notBeforeMs, trackingId, countries, devices }: ViewerTokenRequest,
  on: { channelId: string; claim: string; nowMs: number },
): { claims: Readonly<Record<string, unknown>>; expiresAtMs: number } {
  const issuedAt = Math.floor(on.nowMs / 1000)
  const notBefore = notBeforeMs === null ? null : Math.floor(notBeforeMs / 1000)
  const exp = Math.max(issuedAt, notBefore ?? 0) + expiresInSeconds
  const restrictions = {
    ch: [on.channelId],
    ...(countries === null ? {} : { geo: { cc: countries } }),
    ...(devices === null ? {} : { hw: devices }),
    ...(trackingId === null ? {} : { tid: trackingId }),
  }
  const times = { iat: issuedAt, exp, ...(notBefore === null ? {} : { nbf: notBefore }) }
  return { claims: { ...times, [on.claim]: restrictions }, expiresAtMs: exp * 1000 }
}
