import { type ConfigProblem, formatProblem } from '../config/problem.ts'
import type { ErrorCode } from '../core/errors.ts'
import type { LiveErrorCode, LiveFailure } from '../core/live/errors.ts'

/**
 * Why a command was not done. `usage` is for what was typed, `configuration` for the settings, all else as over HTTP.
 */
export interface Refusal {
  readonly code: ErrorCode | LiveErrorCode | 'usage' | 'configuration'
  readonly data: Readonly<Record<string, unknown>>
}

/** A refusal of the live interface in the words of the command line. */
export function fromLive({ code, message, details = [] }: LiveFailure): Refusal {
  const errors: Record<string, string[]> = {}
  for (const { path, message: sentence } of details) errors[path] = [...(errors[path] ?? []), sentence]
  if (details.length === 0) return { code, data: { message } }
  return { code, data: { message: 'Validation errors', errors } }
}

export const usage = (message: string): Refusal => ({ code: 'usage', data: { message } })

export const misconfigured = (problems: readonly ConfigProblem[]): Refusal => ({
  code: 'configuration',
  data: { message: 'The configuration is wrong', problems },
})

/** 2 for wrong usage, 1 for everything else that was refused. */
export const exitCodeOf = ({ code }: Refusal): 1 | 2 => (code === 'usage' ? 2 : 1)

/** As one object for `--json`: always a code and a message, then whatever else is known. */
export function refusalJson(refusal: Refusal): Record<string, unknown> {
  const { message = firstText(refusal.data), ...rest } = refusal.data
  return { code: refusal.code, message, ...rest }
}

/** For people: one line, then one for each field or key that is wrong. */
export function refusalText(refusal: Refusal): string {
  const { message = firstText(refusal.data), errors = {}, problems = [] } = refusal.data
  const fields = Object.entries(errors as Record<string, string[]>)
  const lines = fields.flatMap(([field, sentences]) => sentences.map((sentence) => `${field}: ${sentence}`))
  const keys = (problems as ConfigProblem[]).map(formatProblem)
  return [String(message), ...[...lines, ...keys].map((line) => `  ${line}`)].join('\n')
}

const firstText = (data: Refusal['data']): string =>
  Object.values(data).find((value) => typeof value === 'string') ?? 'Refused'
