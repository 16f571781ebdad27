/** What one check of `sluice doctor` found. */
export interface Finding {
  readonly check: string
  readonly outcome: 'ok' | 'warn' | 'FAIL'
  /** The finding and, unless it is ok, the remedy. */
  readonly detail: string
}

export const found = (outcome: Finding['outcome'], check: string, detail: string): Finding => ({
  check,
  outcome,
  detail,
})

/** All findings at once; `ok`: nothing keeps Sluice from running well. */
export interface Examination {
  readonly ok: boolean
  readonly checks: readonly Finding[]
}

export const examination = (checks: readonly Finding[]): Examination => ({
  ok: checks.every(({ outcome }) => outcome !== 'FAIL'),
  checks,
})
