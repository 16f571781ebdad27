import type { KeyObject } from 'node:crypto'
import { hmacSha256 } from '../../base/crypto.ts'
import type { SrtAnswer, SrtRequest } from '../../media/srt/types.ts'
import { answerPublisher, type IngestParts } from '../ingest/broadcast.ts'
import { readStreamId, type StreamIdTarget } from './streamId.ts'

export interface SrtTerms {
  /** The key that passphrases are derived from. */
  readonly passphraseKey: KeyObject
  /** Every publisher has to encrypt, whatever its stream id says. */
  readonly isEncryptionRequired: () => boolean
}

/** As many bytes in base64url have 32 characters; a passphrase of SRT has 10 to 79. */
const PASSPHRASE_BYTES = 24

/** The passphrase of a token. It ends with the value of the token. */
export const srtPassphrase = (key: KeyObject, token: string): string =>
  hmacSha256(key, token).toString('base64url', 0, PASSPHRASE_BYTES)

/** Answers a caller: how it encrypts comes before the decision, so that no session begins which cannot send. */
export async function answerSrt(parts: IngestParts, terms: SrtTerms, request: SrtRequest): Promise<SrtAnswer> {
  const target = readStreamId(request.streamId)
  if (!target.ok)
    return { ok: false, status: 'Sluice takes publishers over SRT, and sends nothing', reason: target.error }
  const { destination, isEncodedTwice } = target.value
  if (isEncodedTwice) parts.ctx.sampled.publishers.info({ peer: request.peer }, 'a stream id is percent-encoded twice')
  return (await refusedKeys(terms, target.value, request)) ?? answerPublisher(parts, 'srt', request, destination)
}

async function refusedKeys(
  { passphraseKey, isEncryptionRequired }: SrtTerms,
  { destination, demandsEncryption }: StreamIdTarget,
  { unlock }: SrtRequest,
): Promise<SrtAnswer | null> {
  if (unlock === null) {
    const status = 'Encryption is required: set the passphrase of the token'
    return demandsEncryption || isEncryptionRequired() ? { ok: false, status, reason: 'unencrypted' } : null
  }
  const token = destination.kind === 'stream' ? destination.presented : null
  const isOpen = token !== null && (await unlock(srtPassphrase(passphraseKey, token)))
  return isOpen ? null : { ok: false, status: 'The passphrase is not that of the token', reason: 'passphrase' }
}
