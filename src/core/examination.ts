import { type DoctorCode, type DoctorValues, SENTENCES } from './examinationSentences.ts'

/** The checks, by what people call them. */
export const CHECKS = [
  'node',
  'addons',
  'configuration',
  'data directory',
  'open files',
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
  readonly values: Readonly<Record<string, string | number>>
  /** The sentence of the code with its values: the finding and, unless it is ok, the remedy. */
  readonly detail: string
}

type Values<Code extends DoctorCode> = keyof DoctorValues<Code> extends never ? [] : [values: DoctorValues<Code>]

export function found<Code extends DoctorCode>(
  outcome: Finding['outcome'],
  check: Check,
  code: Code,
  ...[given]: Values<Code>
): Finding {
  const values: Finding['values'] = given ?? {}
  const detail = SENTENCES[code].replaceAll(/\{(\w+)\}/g, (_all, name: string) => String(values[name]))
  return { check, outcome, code, values, detail }
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
