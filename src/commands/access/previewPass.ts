import type { StreamRef } from '../../core/streams/streamId.ts'
import { sha256 } from '../../base/crypto.ts'
import { expiryOf } from '../../core/users/session.ts'
import type { Credential } from '../../core/access/types.ts'
import type { AccessContext } from '../context.ts'

// What the dashboard presents in place of a token when it shows a user one of the account's own streams. The pass is sealed.
// It has the value of the user's session, so that it opens nothing once that session is over.

const PREFIX = 'preview.'
const SEALED_AS = 'preview:pass'
/** A pass has about 200 characters more than the name of its stream. */
const PASS_MAX = 2048

/** A session of the dashboard, by its value, and the stream that it may see. */
interface Pass extends StreamRef {
  readonly value: string
}

export function makePreviewPass({ sealer }: Pick<AccessContext, 'sealer'>, pass: Pass): string {
  const { value, accountId, streamName } = pass
  return PREFIX + sealer.seal(JSON.stringify([value, accountId, streamName]), SEALED_AS).toString('base64url')
}

export const looksLikePreviewPass = (presented: string | null): presented is string =>
  presented?.startsWith(PREFIX) === true && presented.length <= PASS_MAX

/** What a pass proves now. @throws StoreUnavailable */
export async function previewCredential(ctx: AccessContext, presented: string): Promise<Credential> {
  const opened = ctx.sealer.open(Buffer.from(presented.slice(PREFIX.length), 'base64url'), SEALED_AS)
  if (!opened.ok) return { kind: 'unknown', why: 'the pass of a preview is damaged' }
  const [value, accountId, streamName] = JSON.parse(opened.value.toString()) as [string, string, string]
  const isOpen = await isSessionOf(ctx, value, accountId)
  return isOpen
    ? { kind: 'preview', accountId, streamName, sessionValue: value }
    : { kind: 'unknown', why: 'the session of the dashboard has ended' }
}

/** Whether the session with this value is open, and its user still belongs to the account. @throws StoreUnavailable */
export async function isSessionOf(
  { store, clock }: Pick<AccessContext, 'store' | 'clock'>,
  value: string,
  accountId: string,
): Promise<boolean> {
  const found = await store.read.dashboardSessions.find(sha256(value))
  return found?.user.accountId === accountId && expiryOf(found.session, clock.now()) === null
}
