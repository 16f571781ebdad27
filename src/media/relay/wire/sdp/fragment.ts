import { ok, type Result } from '../../../../base/result.ts'
import { candidateLines, type HostAddress } from './candidate.ts'
import { first, malformed, readSections, type SdpRefusal } from './lines.ts'
import { isPwd, isUfrag, PWD, UFRAG } from './offer.ts'

/**
 * Trickled candidates, or an ICE restart: `application/trickle-ice-sdpfrag` (RFC 8840 section 9, RFC 9725 section 4.3). The
 * candidates are not read: a lite agent answers where checks come from.
 */
export interface SdpFragment {
  /** Different from the offer's in an ICE restart. Null when left out. */
  readonly iceUfrag: string | null
  readonly icePwd: string | null
}

/** Reads a fragment. Everything is bundled, so the first credentials are those of all m-lines. */
export function parseFragment(text: string): Result<SdpFragment, SdpRefusal> {
  const sections = readSections(text)
  if (!sections.ok) return sections
  const parts = [sections.value.session, ...sections.value.media]
  const iceUfrag = parts.map((part) => first(part, 'ice-ufrag')).find((value) => value !== undefined) ?? null
  const icePwd = parts.map((part) => first(part, 'ice-pwd')).find((value) => value !== undefined) ?? null
  if (parts.every(({ attributes }) => attributes.size === 0)) return malformed('The fragment has no attributes.')
  if (iceUfrag !== null && !isUfrag(iceUfrag))
    return malformed(`The a=ice-ufrag of the fragment is malformed; it must have ${UFRAG}.`)
  if (icePwd !== null && !isPwd(icePwd))
    return malformed(`The a=ice-pwd of the fragment is malformed; it must have ${PWD}.`)
  return ok({ iceUfrag, icePwd })
}

/** The answer to an ICE restart (RFC 9725 section 4.3.3): our new credentials, and all our candidates. */
export function buildFragment(answer: {
  readonly iceUfrag: string
  readonly icePwd: string
  readonly hosts: readonly HostAddress[]
  /** Of the first m-line that was accepted. */
  readonly mid: string
  readonly kind: 'audio' | 'video'
}): string {
  const lines = [
    'a=ice-lite',
    'a=ice-options:trickle ice2',
    `a=group:BUNDLE ${answer.mid}`,
    `m=${answer.kind} 9 UDP/TLS/RTP/SAVPF 0`,
    `a=mid:${answer.mid}`,
    `a=ice-ufrag:${answer.iceUfrag}`,
    `a=ice-pwd:${answer.icePwd}`,
    ...candidateLines(answer.hosts),
    'a=end-of-candidates',
  ]
  return `${lines.join('\r\n')}\r\n`
}
