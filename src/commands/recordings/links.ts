import { constantTimeEqual } from '../../base/crypto.ts'
import type { CommandContext } from '../context.ts'
import { type LinkMaker, MAKERS } from './linkMaker.ts'

/** The recording that a link leads to. */
interface LinkedRecording {
  readonly accountId: string
  readonly recordingId: string
}

/** What a link to a recording says beside the recording. */
export interface LinkTerms {
  /** When it ends, epoch milliseconds, in whole seconds. */
  readonly expiresAtMs: number
  readonly maker: LinkMaker
}

type Signing = Pick<CommandContext, 'signRecordingLink'>

/** 128 bits: each guess succeeds with a chance of 1 in 2^128. */
const MAC_BYTES = 16
/** Seconds since 1970. */
const EXPIRES = /^\d{10,11}$/
/** The first letter of a maker's kind, its id and time. */
const BY = /^([a-z])(\d{1,15})-([0-9a-z]{1,11})$/
const FILE = /^([1-9A-HJ-NP-Za-km-z]{22})\.mp4$/

/** What the address of a link says. */
interface LinkParts {
  readonly expires: string
  readonly by: string
}

/**
 * The path and query of a link for pages and players that have no secret. Its signature covers the account, the recording, the end
 * and the maker, so that it is checked before the store is asked.
 */
export function recordingLink(signing: Signing, linked: LinkedRecording, { expiresAtMs, maker }: LinkTerms): string {
  const { accountId, recordingId } = linked
  const expires = String(Math.floor(expiresAtMs / 1000))
  const by = `${maker.kind[0]}${maker.id}-${maker.sinceMs.toString(36)}`
  const signature = signatureOf(signing, linked, { expires, by })
  const path = `/recordings/${encodeURIComponent(accountId)}/${recordingId}.mp4`
  return `${path}?expires=${expires}&by=${by}&signature=${signature}`
}

/** The recording of a genuine link, when it ends or ended, and who made it. Null: the link is not genuine. */
export function readLink(
  signing: Signing,
  { accountId, file }: { readonly accountId: string; readonly file: string },
  { expires, by, signature }: { readonly [name in 'expires' | 'by' | 'signature']?: unknown },
): (LinkedRecording & LinkTerms) | null {
  const [, recordingId] = FILE.exec(file) ?? []
  const maker = typeof by === 'string' ? readMaker(by) : null
  if (recordingId === undefined || typeof expires !== 'string' || !EXPIRES.test(expires)) return null
  if (maker === null || typeof by !== 'string' || typeof signature !== 'string') return null
  const linked = { accountId, recordingId }
  if (!constantTimeEqual(signature, signatureOf(signing, linked, { expires, by }))) return null
  return { ...linked, maker, expiresAtMs: Number(expires) * 1000 }
}

function signatureOf(
  { signRecordingLink }: Signing,
  { accountId, recordingId }: LinkedRecording,
  { expires, by }: LinkParts,
): string {
  const mac = signRecordingLink(Buffer.from(JSON.stringify([accountId, recordingId, expires, by])))
  return Buffer.from(mac).toString('base64url', 0, MAC_BYTES)
}

function readMaker(text: string): LinkMaker | null {
  const [, letter, id = '', since = ''] = BY.exec(text) ?? []
  const kind = MAKERS.find((name) => name[0] === letter)
  return kind === undefined ? null : { kind, id: Number(id), sinceMs: Number.parseInt(since, 36) }
}
