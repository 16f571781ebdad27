/** Long enough to open the terminal's link on another machine, short enough that a forgotten terminal opens nothing. */
export const SETUP_MINUTES = 30
export const SETUP_MS = SETUP_MINUTES * 60_000

/** Why a one-time link makes no user. */
export type SetupProblem = 'unknown' | 'used' | 'late' | 'not_first'

const ANOTHER = 'For another link run: sluice user link'

/** What to do instead, for the person who opened the link. */
export const SETUP_PROBLEMS: Readonly<Record<SetupProblem, string>> = {
  unknown: `This link is not valid. Copy all of it. ${ANOTHER}`,
  used: `This link was used already: each makes one user. Sign in as that user. ${ANOTHER}`,
  late: `This link is older than ${SETUP_MINUTES} minutes. ${ANOTHER}, or restart Sluice while it has no user`,
  not_first: `This link makes the first user, and Sluice has a user already. Sign in. ${ANOTHER}`,
}

interface Code {
  readonly firstOnly: boolean
  readonly usedAtMs: number | null
  readonly expiresAtMs: number
}

/** Null: the code may make a user now. */
export function setupProblem(code: Code | undefined, hasUsers: boolean, nowMs: number): SetupProblem | null {
  if (!code) return 'unknown'
  if (code.usedAtMs !== null) return 'used'
  if (nowMs >= code.expiresAtMs) return 'late'
  return code.firstOnly && hasUsers ? 'not_first' : null
}
