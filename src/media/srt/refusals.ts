import type { SenderEnd } from '../publishing.ts'
import { REJECT } from './handshake.ts'

type Words = readonly [kind: SenderEnd['kind'], message: string]

/** An application said no without a reason: perhaps because its stream is in use. */
const NO_REASON = 1002
const NOT_FOUND = 1404

/** Codes with which listeners refuse (draft-sharabayko-srt-01 section 4.3, and the access control of SRT). */
const WORDS: Readonly<Record<number, Words>> = {
  [NO_REASON]: ['refused', 'The other side refuses the stream without a reason'],
  [REJECT.resource]: ['lost', 'The other side has no room for a further connection'],
  [REJECT.version]: ['unsuitable', 'The other side speaks another version of SRT'],
  [REJECT.badSecret]: ['refused', 'The other side has another passphrase'],
  [REJECT.unsecure]: ['refused', 'The other side demands encryption, or takes none: check the passphrase'],
  [REJECT.messageMode]: ['unsuitable', 'The other side takes files, and no live media'],
  [REJECT.congestion]: ['unsuitable', 'The other side takes files, and no live media'],
  [REJECT.filter]: ['unsuitable', 'The other side wants a packet filter, such as FEC'],
  [REJECT.group]: ['unsuitable', 'The other side wants several bonded connections'],
  [REJECT.badRequest]: ['refused', 'The other side does not understand the stream id'],
  [REJECT.unauthorized]: ['refused', 'The other side does not accept the key in the stream id'],
  [REJECT.overload]: ['lost', 'The other side has too much to do'],
  [REJECT.forbidden]: ['refused', 'The other side does not allow this stream'],
  [NOT_FOUND]: ['refused', 'The other side does not know this stream'],
  [REJECT.badMode]: ['refused', 'The other side does not take streams under this stream id'],
  [REJECT.conflict]: ['refused', 'The stream is in use at the other side'],
}

const IN_USE = new Set<number>([NO_REASON, REJECT.conflict])

/** What becomes of a call that was refused. The message has the code, because operators of encoders search for it. */
export function endOfRefusal(code: number): SenderEnd {
  const [kind, text] = WORDS[code] ?? ['lost', 'The other side refuses the connection']
  const message = `${text} (SRT code ${code})`
  return kind === 'refused' ? { kind, message, isInUse: IN_USE.has(code) } : { kind, message }
}
