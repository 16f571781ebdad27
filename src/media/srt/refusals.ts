import { coded, type NoticeCode, say } from '../../core/notices.ts'
import type { SenderEnd } from '../publishing.ts'
import { REJECT } from './handshake.ts'

type Refusal = readonly [kind: SenderEnd['kind'], code: Extract<NoticeCode, `srt_${string}`>]

/** An application said no without a reason: perhaps because its stream is in use. */
const NO_REASON = 1002
const NOT_FOUND = 1404

/** Codes with which listeners refuse (draft-sharabayko-srt-01 section 4.3, and the access control of SRT). */
const REFUSALS: Readonly<Record<number, Refusal>> = {
  [NO_REASON]: ['refused', 'srt_no_reason'],
  [REJECT.resource]: ['lost', 'srt_no_room'],
  [REJECT.version]: ['unsuitable', 'srt_version'],
  [REJECT.badSecret]: ['refused', 'srt_passphrase'],
  [REJECT.unsecure]: ['refused', 'srt_encryption'],
  [REJECT.messageMode]: ['unsuitable', 'srt_files'],
  [REJECT.congestion]: ['unsuitable', 'srt_files'],
  [REJECT.filter]: ['unsuitable', 'srt_filter'],
  [REJECT.group]: ['unsuitable', 'srt_group'],
  [REJECT.badRequest]: ['refused', 'srt_stream_id'],
  [REJECT.unauthorized]: ['refused', 'srt_key'],
  [REJECT.overload]: ['lost', 'srt_overload'],
  [REJECT.forbidden]: ['refused', 'srt_forbidden'],
  [NOT_FOUND]: ['refused', 'srt_not_found'],
  [REJECT.badMode]: ['refused', 'srt_no_streams'],
  [REJECT.conflict]: ['refused', 'srt_in_use'],
}

const IN_USE = new Set<number>([NO_REASON, REJECT.conflict])

/** What becomes of a call that was refused. The message has the code, because operators of encoders search for it. */
export function endOfRefusal(code: number): SenderEnd {
  const [kind, sentence] = REFUSALS[code] ?? ['lost', 'srt_refused']
  const said = say(coded(sentence, { code }))
  return kind === 'refused' ? { kind, ...said, isInUse: IN_USE.has(code) } : { kind, ...said }
}
