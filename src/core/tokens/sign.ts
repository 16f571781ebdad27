import type { Result } from '../../base/result.ts'
import { checkStreamName } from '../access/streamName.ts'
import { readShape } from '../validation/bodyReader.ts'
import { Problems } from '../validation/problems.ts'
import type { FieldErrors } from '../errors.ts'
import { checkPlainText } from '../validation/text.ts'
import { canonicalList } from './canonical.ts'
import { SignToken } from './signSchema.ts'

/** A signed token to make. */
export interface SignRequest {
  readonly streamName: string
  readonly expiresInSeconds: number
  /** Null: a random one. */
  readonly jti: string | null
  readonly allowedOrigins: string[]
  readonly allowedIpAddresses: string[]
  readonly trackingId: string | null
  /** Null: no limit. */
  readonly maxViewers: number | null
  readonly endAtExpiry: boolean
  readonly customViewerData: string | null
}

/** Parses the body of a request to sign a token. */
export function readSign(body: unknown): Result<SignRequest, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(SignToken, body, problems)
  const streamName = reader.value('streamName') ?? ''
  const jti = reader.value('jti') ?? null
  const wrong = problems.has('streamName') ? null : checkStreamName(streamName)
  if (wrong !== null) problems.add('streamName', wrong)
  checkPlainText('jti', jti ?? undefined, problems)
  const trackingId = reader.value('tracking')?.trackingId ?? null
  checkPlainText('tracking.trackingId', trackingId ?? undefined, problems)
  const maxViewers = reader.value('maxViewers') ?? null
  if (maxViewers !== null && !reader.names('tracking')) problems.add('maxViewers', 'needs tracking')
  const customViewerData = reader.value('customViewerData') ?? null
  if (customViewerData?.includes('\0') || customViewerData?.isWellFormed() === false)
    problems.add('customViewerData', 'must be well-formed Unicode without NUL')
  return problems.settle({
    streamName,
    expiresInSeconds: reader.value('expiresInSeconds') ?? 60,
    jti,
    allowedOrigins: canonicalList(reader, 'allowedOrigins') ?? [],
    allowedIpAddresses: canonicalList(reader, 'allowedIpAddresses') ?? [],
    trackingId,
    maxViewers,
    endAtExpiry: reader.value('endAtExpiry') ?? false,
    customViewerData,
  })
}
