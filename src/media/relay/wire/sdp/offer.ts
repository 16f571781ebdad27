import { ok, type Result } from '../../../../base/result.ts'
import {
  attributesOf,
  first,
  has,
  malformed,
  readSections,
  type SdpRefusal,
  type Sections,
  type SdpSection,
  unservable,
} from './lines.ts'
import { type OfferedMedia, readMedia } from './media.ts'

/** An offer that can be answered: everything in it on one bundled transport (RFC 9725 section 4.4, RFC 8829). */
export interface SdpOffer extends OfferedTransport {
  /** Whether it has a BUNDLE group. A single m-line needs none. */
  readonly isBundled: boolean
  /** Every m-line, in order; those outside of the bundle too, because each needs its answer. */
  readonly media: readonly OfferedMedia[]
}

/** ICE and DTLS of the bundle. */
interface OfferedTransport {
  readonly iceUfrag: string
  readonly icePwd: string
  /** The peer's certificate has one of them, 1 at least. */
  readonly fingerprints: readonly Fingerprint[]
  /** Ours: the server, unless the peer waits for us (RFC 8842 section 5). */
  readonly dtlsRole: 'server' | 'client'
}

/** The hash of a certificate (RFC 8122). */
export interface Fingerprint {
  readonly algorithm: 'sha-256' | 'sha-384' | 'sha-512'
  /** Upper-case pairs of hex digits with colons between them. */
  readonly value: string
}

/** Reads an SDP offer of WHIP or WHEP. Whatever the text is, this neither throws nor takes long. */
export function parseOffer(text: string): Result<SdpOffer, SdpRefusal> {
  if (!/^v=0[\r\n]/.test(text)) return malformed('The body is not SDP: it does not begin with v=0.')
  const sections = readSections(text)
  if (!sections.ok) return sections
  const { session, media } = sections.value
  if (media.length === 0) return malformed('The offer has no media: there is no m-line in it.')
  const group = readBundle(session)
  if (group === null && media.length > 1)
    return malformed('The offer must bundle its media: there is no a=group:BUNDLE in it that names m-lines.')
  const problem = group === null ? null : checkMids(media)
  if (problem !== null) return malformed(problem)
  const bundle = group ?? media.map(midOf)
  const lines: OfferedMedia[] = []
  for (const section of media) {
    const line = readMedia(section, bundle.includes(midOf(section)), lines.length + 1)
    if (!line.ok) return line
    lines.push(line.value)
  }
  const transport = readTransport(sections.value, bundle)
  if (!transport.ok) return transport
  const unserved = mediaProblem(lines)
  return unserved === null ? ok({ ...transport.value, isBundled: group !== null, media: lines }) : unservable(unserved)
}

/** The mids of the first BUNDLE group, or null. */
function readBundle(session: SdpSection): string[] | null {
  const group = attributesOf(session, 'group').find((value) => /^BUNDLE( |$)/.test(value))
  const mids = group?.split(' ').slice(1).filter(Boolean) ?? []
  return mids.length === 0 ? null : mids
}

const midOf = (section: SdpSection): string => first(section, 'mid') ?? ''

/** A mid that no m-line has does not matter: FFmpeg 8.0 names one for audio and one for video, whatever it sends. */
function checkMids(media: readonly SdpSection[]): string | null {
  const mids = media.map(midOf)
  const bad = mids.findIndex((mid) => !/^[\w.+~-]{1,64}$/.test(mid))
  if (bad >= 0)
    return `The offer has ${lackOf(mids[bad])} a=mid in m-line ${bad + 1}; each needs one of 1 to 64 letters, digits and characters of "_.+~-".`
  const again = mids.findIndex((mid, index) => mids.indexOf(mid) < index)
  if (again < 0) return null
  return `The offer has the a=mid of m-line ${mids.indexOf(mids[again] ?? '') + 1} again in m-line ${again + 1}; each needs its own.`
}

/** Before the name of an attribute that cannot be used. */
const lackOf = (value: string | undefined): string => (value === undefined || value === '' ? 'no' : 'a malformed')

/** Of the first m-line of the bundle or of the session (RFC 9143 section 7.1, RFC 8839 section 5.4). */
function readTransport({ session, media }: Sections, bundle: readonly string[]): Result<OfferedTransport, SdpRefusal> {
  const tagged = bundle.flatMap((mid) => media.find((section) => midOf(section) === mid) ?? [])[0] ?? session
  const needs = `the session or m-line ${Math.max(0, media.indexOf(tagged)) + 1} needs one of`
  const iceUfrag = first(tagged, 'ice-ufrag') ?? first(session, 'ice-ufrag') ?? ''
  if (!isUfrag(iceUfrag)) return malformed(`The offer has ${lackOf(iceUfrag)} a=ice-ufrag; ${needs} ${UFRAG}.`)
  const icePwd = first(tagged, 'ice-pwd') ?? first(session, 'ice-pwd') ?? ''
  if (!isPwd(icePwd)) return malformed(`The offer has ${lackOf(icePwd)} a=ice-pwd; ${needs} ${PWD}.`)
  const hashes = has(tagged, 'fingerprint') ? attributesOf(tagged, 'fingerprint') : attributesOf(session, 'fingerprint')
  const fingerprints = hashes
    .map(readFingerprint)
    .filter((hash) => hash !== null)
    .slice(0, MAX_FINGERPRINTS)
  if (fingerprints.length === 0)
    return malformed(`The offer has ${lackOf(hashes[0])} a=fingerprint; ${needs} sha-256, sha-384 or sha-512.`)
  const setup = first(tagged, 'setup') ?? first(session, 'setup') ?? 'active'
  if (setup !== 'actpass' && setup !== 'active' && setup !== 'passive')
    return malformed('The offer has an a=setup that is not known; it must be actpass, active or passive.')
  return ok({ iceUfrag, icePwd, fingerprints, dtlsRole: setup === 'passive' ? 'client' : 'server' })
}

function mediaProblem(media: readonly OfferedMedia[]): string | null {
  const isMedia = ({ media: name }: OfferedMedia): boolean => name === 'audio' || name === 'video'
  const foreign = media.find((one) => isMedia(one) && one.isOpen && one.kind === 'other')
  if (foreign !== undefined)
    return `The ${foreign.media} of the offer must be UDP/TLS/RTP/SAVPF, but is ${foreign.protocol}.`
  return media.some(isMedia) ? null : 'The offer has neither audio nor video; a data channel alone is not served.'
}

/** RFC 8839 section 5.4: 4 to 256 ice-chars; at least 22 for the password. */
export const isUfrag = (text: string): boolean => /^[A-Za-z0-9+/]{4,256}$/.test(text)
export const isPwd = (text: string): boolean => /^[A-Za-z0-9+/]{22,256}$/.test(text)
export const UFRAG = '4 to 256 letters, digits, "+" and "/" (RFC 8839 section 5.4)'
export const PWD = '22 to 256 letters, digits, "+" and "/" (RFC 8839 section 5.4)'

/** Three hashes of each of two certificates are six. */
const MAX_FINGERPRINTS = 8
const HASHES = { 'sha-256': 32, 'sha-384': 48, 'sha-512': 64 } as const

function readFingerprint(value: string): Fingerprint | null {
  const [name, hash, ...more] = value.split(' ', 3)
  const algorithm = (Object.keys(HASHES) as (keyof typeof HASHES)[]).find((known) => known === name?.toLowerCase())
  if (algorithm === undefined || hash === undefined || more.length > 0) return null
  const isHash = /^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2})*$/.test(hash) && hash.length === HASHES[algorithm] * 3 - 1
  return isHash ? { algorithm, value: hash.toUpperCase() } : null
}
