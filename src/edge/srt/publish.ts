import type { Context } from '../../commands/context.ts'
import { recordEncryption } from '../../commands/access/authorize.ts'
import { resolveCredential } from '../../commands/access/credential.ts'
import { findByStreamKey } from '../../commands/channels/ingests.ts'
import { ENCRYPTION_REFUSALS, type EncryptionRefusal } from '../../core/access/refusals.ts'
import type { SrtAnswer, SrtRequest } from '../../media/srt/types.ts'
import { answerPublisher, publishAttempt, type Destination, type IngestParts } from '../ingest/broadcast.ts'
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
  request: SrtRequest,
): Promise<SrtAnswer | null> {
  const { unlock } = request
  const refuse = (code: EncryptionRefusal) => refuseKeys(ctx, request, destination, code)
  if (unlock === null) return demandsEncryption || isRequired ? refuse('encryption_required') : null
  const secret = await knownSecret(ctx, destination)
  // The decision refuses it. To open its keys would only cost.
  if (secret === null) return null
  for (const passphrase of ctx.srtPassphrases(secret)) if (await unlock(passphrase)) return null
  return refuse('wrong_passphrase')
}

const REASONS = { encryption_required: 'unencrypted', wrong_passphrase: 'passphrase' } as const

async function refuseKeys(
  ctx: Context,
  request: SrtRequest,
  destination: Destination,
  code: EncryptionRefusal,
): Promise<SrtAnswer> {
  ctx.sessions.counts.refused.add(code)
  if (destination.kind === 'stream') await recordEncryption(ctx, publishAttempt('srt', request, destination), code)
  return { ok: false, status: ENCRYPTION_REFUSALS[code], reason: REASONS[code] }
}

/** The token or the stream key of a destination, if there is such a one. */
async function knownSecret(ctx: Context, destination: Destination): Promise<string | null> {
  if (destination.kind === 'none') return null
  if (destination.kind === 'key') return (await findByStreamKey(ctx, destination.key, 'srt')) ? destination.key : null
  const credential = await resolveCredential(ctx, destination.presented)
  return credential.kind === 'token' && credential.token.kind === 'publish' ? destination.presented : null
}
