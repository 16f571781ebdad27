import type { ViewerQuality } from '../../core/quality/viewerQuality.ts'
import type { Bytes } from '../../core/sessions/types.ts'
import type { SessionContext } from '../context.ts'

interface Counted extends Partial<Bytes> {
  readonly id: string
  readonly quality: ViewerQuality | null
}

/** A stored session with what this node has of it now. Sessions of others are as their nodes wrote them last. */
export function withNewest<S extends Counted>(
  { sessions, playerReports }: Pick<SessionContext, 'sessions' | 'playerReports'>,
  row: S,
): S {
  const open = sessions.get(row.id)
  return open === undefined ? row : { ...row, ...open.bytes, quality: playerReports.of(row.id) ?? row.quality }
}
