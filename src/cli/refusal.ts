import { type ConfigProblem, formatConfigProblem } from '../config/problem.ts'
import { root } from '../config/schema.ts'
import { type ErrorCode, REFUSALS_PAGE } from '../core/errors.ts'
import { CHANNEL_REFUSALS_PAGE, type ChannelErrorCode, type ChannelFailure } from '../core/channels/errors.ts'

/**
 * Why a command was refused. `usage` is for the command line, `configuration` for the settings, all others as over
 * HTTP.
 */
export interface CliRefusal {
  readonly code: ErrorCode | ChannelErrorCode | 'usage' | 'configuration'
  readonly data: Readonly<Record<string, unknown>>
  /** Below `/docs/`; if left out, that of all refusals. */
  readonly page?: string
}

/** A refusal of the channels API as a refusal of the command line. */
export function fromChannelFailure({ code, message, details = [] }: ChannelFailure): CliRefusal {
  const errors: Record<string, string[]> = {}
  for (const { path, message: sentence } of details) errors[path] = [...(errors[path] ?? []), sentence]
  const data = details.length === 0 ? { message } : { message: 'Validation errors', errors }
  return { code, data, page: CHANNEL_REFUSALS_PAGE }
}

export const usage = (message: string): CliRefusal => ({ code: 'usage', data: { message } })

export const misconfigured = (problems: readonly ConfigProblem[]): CliRefusal => ({
  code: 'configuration',
  data: { message: 'The configuration is wrong', problems },
  page: `reference/configuration.html${sectionOf(problems)}`,
})

/** The section of the first key. */
function sectionOf([first]: readonly ConfigProblem[]): string {
  const section = first?.key.split('.')[0] ?? ''
  return Object.hasOwn(root, section) ? `#${section}` : ''
}

/** 2 for wrong usage, 1 for every other refusal. */
export const exitCodeOf = ({ code }: CliRefusal): 1 | 2 => (code === 'usage' ? 2 : 1)

/** Refusals of which the help of the command says more. Where something is unavailable, often no server runs to show a page. */
const WITHOUT_PAGE: readonly CliRefusal['code'][] = ['usage', 'unavailable']

/** The page of the documentation about a refusal, as a path on a server. Null: the help of its command says more. */
const pagePath = ({ code, page = REFUSALS_PAGE }: CliRefusal): string | null =>
  WITHOUT_PAGE.includes(code) ? null : `/docs/${page}`

/** One object for `--json`: always a code and a message, plus further fields. */
export function refusalJson(refusal: CliRefusal): Record<string, unknown> {
  const { message = firstText(refusal.data), ...rest } = refusal.data
  const help = pagePath(refusal)
  return { code: refusal.code, message, ...rest, ...(help === null ? {} : { help }) }
}

/** Where an operator reads more about a refusal, for a terminal. The page of all refusals is for programs. @param command its help */
export function furtherReading(refusal: CliRefusal, command: string | undefined): string | null {
  const path = refusal.page === undefined ? null : pagePath(refusal)
  if (path !== null) return `See: ${path} on your server`
  return command === undefined ? null : `See: ${command}`
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
