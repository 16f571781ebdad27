import { type DoctorCode, SENTENCES } from './examinationSentences.ts'
import type { CodedSentence } from './notices.ts'
import { filled, type SentenceValues, type ValuesArgument } from './sentence.ts'

/** The checks, by what people call them. */
export const CHECKS = [
  'node',
  'addons',
  'configuration',
  'data directory',
  'recordings directory',
  'open files',
  'memory',
  'store',
  'sealing key',
  'connections',
  'database settings',
  'clock and database',
  'clock and store',
  'handover',
  'attention',
  'clock',
  'clock and time server',
  'disk space',
  'disk speed',
  'webhook certificates',
  'TLS',
  'private key',
  'country database',
  'port',
  'media ports',
  'RTMP port',
  'RTMPS port',
  'redirect port',
  'SRT port',
  'UDP ports',
  'public address',
  'public URL',
  'proxy',
  'UDP buffers',
  'ffmpeg',
  'ffmpeg network',
  'encoders',
  'video encoder',
  'hardware encoders',
] as const

export type Check = (typeof CHECKS)[number]

/** What one check of `sluice doctor` found. */
export interface Finding {
  readonly check: Check
  readonly outcome: 'ok' | 'warn' | 'FAIL'
  readonly code: DoctorCode
  readonly values: SentenceValues
  /** The sentence of the code with its values: the finding and, unless it is ok, the remedy. */
  readonly detail: string
  /** What attention says, or `problem` of the values, as data. */
  readonly sentences?: readonly CodedSentence[]
}

export function found<Code extends DoctorCode>(
  outcome: Finding['outcome'],
  check: Check,
  code: Code,
  ...[given]: ValuesArgument<(typeof SENTENCES)[Code]>
): Finding {
  const values: SentenceValues = given ?? {}
  return { check, outcome, code, values, detail: filled(SENTENCES[code], values) }
}

/** All findings at once; `ok`: nothing keeps Sluice from running well. */
export interface Examination {
  readonly ok: boolean
  readonly checks: readonly Finding[]
}

export const examination = (checks: readonly Finding[]): Examination => ({
  ok: checks.every(({ outcome }) => outcome !== 'FAIL'),
  checks,
})
