import { CLOCK_SKEW_MS } from '../../base/time.ts'
import type { Result } from '../../base/result.ts'
import { parseDateTime } from '../validation/moments.ts'
import { checkPlainText } from '../validation/text.ts'
import { Problems } from '../validation/problems.ts'
import type { FieldErrors } from '../errors.ts'
import { DisableTokens, RevokeSelfSigned } from './requestSchema.ts'
import { readShape } from '../validation/bodyReader.ts'

/** Which self-signed children are refused from now on. At least one of the two is not null. */
export interface Revocation {
  jti: string | null
  /** Epoch milliseconds. */
  issuedBeforeMs: number | null
}

/**
 * Parses the body of a revocation.
 * @param nowMs epoch milliseconds
 */
export function readRevoke(body: unknown, nowMs: number): Result<Revocation, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(RevokeSelfSigned, body, problems)
  const jti = reader.value('jti') ?? null
  const issuedBefore = reader.value('issuedBefore')
  checkPlainText('jti', jti ?? undefined, problems)
  const issuedBeforeMs = issuedBefore === undefined ? null : readIssuedBefore(issuedBefore, nowMs, problems)
  if (problems.isEmpty && jti === null && issuedBefore === undefined) {
    problems.add('body', 'must have jti or issuedBefore, or both')
  }
  return problems.settle({ jti, issuedBeforeMs })
}

function readIssuedBefore(text: string, nowMs: number, problems: Problems): number | null {
  const ms = text === 'now' ? nowMs : parseDateTime(text)
  if (ms === null) problems.add('issuedBefore', 'must be a date and time that exists, from 1970 on')
  else if (ms > nowMs + CLOCK_SKEW_MS) problems.add('issuedBefore', 'must not be in the future')
  return ms
}

/** Parses the body of a request to disable publish tokens: their ids without duplicates, in the order of the body. */
export function readDisable(body: unknown): Result<number[], FieldErrors> {
  const problems = new Problems()
  const reader = readShape(DisableTokens, body, problems)
  return problems.settle([...new Set(reader.value('tokenIds') ?? [])])
}
