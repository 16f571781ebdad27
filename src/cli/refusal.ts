import { type ConfigProblem, formatConfigProblem } from '../config/problem.ts'
import type { ErrorCode } from '../core/errors.ts'
import type { ChannelErrorCode, ChannelFailure } from '../core/channels/errors.ts'

/**
 * Why a command was refused. `usage` is for the command line, `configuration` for the settings, all others as over
 * HTTP.
 */
export interface CliRefusal {
  readonly code: ErrorCode | ChannelErrorCode | 'usage' | 'configuration'
  readonly data: Readonly<Record<string, unknown>>
}

/** A refusal of the channels API as a refusal of the command line. */
export function fromChannelFailure({ code, message, details = [] }: ChannelFailure): CliRefusal {
  const errors: Record<string, string[]> = {}
  for (const { path, message: sentence } of details) errors[path] = [...(errors[path] ?? []), sentence]
  if (details.length === 0) return { code, data: { message } }
  return { code, data: { message: 'Validation errors', errors } }
}

export const usage = (message: string): CliRefusal => ({ code: 'usage', data: { message } })

export const misconfigured = (problems: readonly ConfigProblem[]): CliRefusal => ({
  code: 'configuration',
  data: { message: 'The configuration is wrong', problems },
})

/** 2 for wrong usage, 1 for every other refusal. */
export const exitCodeOf = ({ code }: CliRefusal): 1 | 2 => (code === 'usage' ? 2 : 1)

/** One object for `--json`: always a code and a message, plus further fields. */
export function refusalJson(refusal: CliRefusal): Record<string, unknown> {
  const { message = firstText(refusal.data), ...rest } = refusal.data
  return { code: refusal.code, message, ...rest }
}

/** For a terminal: one line, then one per invalid field or key. */
export function refusalText(refusal: CliRefusal): string {
  const { message = firstText(refusal.data), errors = {}, problems = [] } = refusal.data
  const fields = Object.entries(errors as Record<string, string[]>)
  const lines = fields.flatMap(([field, sentences]) => sentences.map((sentence) => `${field}: ${sentence}`))
  const keys = (problems as ConfigProblem[]).map(formatConfigProblem)
  return [String(message), ...[...lines, ...keys].map((line) => `  ${line}`)].join('\n')
}

const firstText = (data: CliRefusal['data']): string =>
  Object.values(data).find((value) => typeof value === 'string') ?? 'Refused'
