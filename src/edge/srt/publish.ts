import type { Context } from '../../commands/context.ts'
import { resolveCredential } from '../../commands/access/credential.ts'
import { findByStreamKey } from '../../commands/channels/ingests.ts'
import type { SrtAnswer, SrtRequest } from '../../media/srt/types.ts'
import { answerPublisher, type IngestParts } from '../ingest/broadcast.ts'
import { readStreamId, type StreamIdTarget } from './streamId.ts'

/**
 * Answers a caller. Its keys are opened before the decision, so that no session begins that cannot send.
 * @param isEncryptionRequired of every publisher, whatever its stream id says
 */
export async function answerSrt(
  parts: IngestParts,
  isEncryptionRequired: () => boolean,
  request: SrtRequest,
): Promise<SrtAnswer> {
  const target = readStreamId(request.streamId)
  if (!target.ok)
    return { ok: false, status: 'Sluice takes publishers over SRT, and sends nothing', reason: target.error }
  const { destination, isEncodedTwice } = target.value
  if (isEncodedTwice) parts.ctx.sampled.publishers.info({ peer: request.peer }, 'a stream id is percent-encoded twice')
  const refused = await refusedKeys(parts.ctx, isEncryptionRequired(), target.value, request)
  return refused ?? answerPublisher(parts, 'srt', request, destination)
}

async function refusedKeys(
  ctx: Context,
  isRequired: boolean,
  { destination, demandsEncryption }: StreamIdTarget,
  { unlock }: SrtRequest,
): Promise<SrtAnswer | null> {
  if (unlock === null) {
    const status = 'Encryption is required: set the passphrase of the token'
    return demandsEncryption || isRequired ? { ok: false, status, reason: 'unencrypted' } : null
  }
  const secret = await knownSecret(ctx, destination)
  // The decision refuses it. To open its keys would only cost.
  if (secret === null) return null
  for (const passphrase of ctx.srtPassphrases(secret)) if (await unlock(passphrase)) return null
  return { ok: false, status: 'The passphrase is not that of the token', reason: 'passphrase' }
}

/** The token or the stream key of a destination, if there is such a one. */
async function knownSecret(ctx: Context, destination: StreamIdTarget['destination']): Promise<string | null> {
  if (destination.kind === 'none') return null
  if (destination.kind === 'key') return (await findByStreamKey(ctx, destination.key, 'srt')) ? destination.key : null
  const credential = await resolveCredential(ctx, destination.presented)
  return credential.kind === 'token' && credential.token.kind === 'publish' ? destination.presented : null
}
