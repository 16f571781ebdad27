import { err, ok, type Result } from '../../base/result.ts'
import { readCmcd } from '../../core/quality/cmcd.ts'
import { readPlayerReport } from '../../core/quality/playerReport.ts'
import type { SessionContext } from '../context.ts'

type ReportContext = Pick<SessionContext, 'sessions' | 'playerReports'>

/** `off`: reports are switched off. `unknown`: no session of a viewer. `often`: more than a player has to say. */
export type ReportRefusal = 'off' | 'unknown' | 'often' | { readonly problem: string }

/**
 * Takes what a player reports of its session, which its caller has proved to be the player's. Repeated and older reports
 * change nothing. Nothing here counts bytes or prolongs the session.
 */
export function takePlayerReport(ctx: ReportContext, sessionId: string, text: string): Result<void, ReportRefusal> {
  const { playerReports, sessions } = ctx
  if (!playerReports.isOn) return err('off')
  const open = sessions.get(sessionId)
  if (open !== undefined && open.session.action !== 'view') return err('unknown')
  let refused: ReportRefusal | null = null
  const isThere = playerReports.with(sessionId, open, (quality, moment) => {
    if (!quality.mayReport(moment)) refused = 'often'
    if (refused !== null) return false
    const report = readPlayerReport(text)
    if (report.ok) return quality.report(report.value, moment)
    refused = { problem: report.error }
    return false
  })
  if (!isThere) return err('unknown')
  return refused === null ? ok(undefined) : err(refused)
}

/** Takes the CMCD of a request of a viewer. Synchronous and cheap: each request for media may have one. */
export function noteCmcd({ playerReports, sessions }: ReportContext, sessionId: string, text: string): void {
  const open = sessions.get(sessionId)
  const cmcd = playerReports.isOn && open?.session.action === 'view' ? readCmcd(text) : null
  if (cmcd === null) return
  playerReports.with(sessionId, open, (quality, moment) => {
    quality.observe(cmcd, moment)
    return true
  })
}
