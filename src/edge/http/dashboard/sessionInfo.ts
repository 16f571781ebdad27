import { type Static, Type } from 'typebox'
import type { FastifyReply } from 'fastify'
import { ok } from '../../../base/result.ts'
import { isoTime } from '../../../base/time.ts'
import { listSecrets } from '../../../commands/accounts/secrets.ts'
import type { SignedIn } from '../../../commands/users/sessions.ts'
import { ROLES } from '../../../core/users/types.ts'
import { dateTime } from '../fieldSchemas.ts'
import { sendResult } from '../problem.ts'
import type { DashboardApi } from './parts.ts'

export const SessionInfo = Type.Object({
  user: Type.Object({ id: Type.Integer(), email: Type.String(), role: Type.Enum([...ROLES]) }),
  account: Type.Object({ id: Type.String({ examples: ['a1b2c3'] }), name: Type.String() }),
  session: Type.Object({
    id: Type.Integer(),
    createdOn: dateTime(),
    expiresOn: dateTime('It ends after 12 hours without use, too.'),
  }),
  version: Type.String({ description: 'Of Sluice.' }),
  hasApiSecret: Type.Boolean({ description: 'Without one, the token API refuses every request.' }),
})

export const OwnSession = Type.Object({
  id: Type.Integer(),
  isCurrent: Type.Boolean({ description: 'Of the browser that asks.' }),
  createdOn: dateTime(),
  lastUsedOn: dateTime('Written with a delay of at most 5 minutes.'),
  expiresOn: dateTime(),
  address: Type.String({ description: 'Where you signed in.' }),
  userAgent: Type.String({ description: 'As the browser says; anything may stand here.' }),
})

interface Session {
  readonly id: number
  readonly createdAtMs: number
  readonly seenAtMs: number
  readonly expiresAtMs: number
  readonly address: string
  readonly userAgent: string
}

export const toOwnSession = (session: Session, currentId: number): Static<typeof OwnSession> => ({
  id: session.id,
  isCurrent: session.id === currentId,
  createdOn: isoTime(session.createdAtMs),
  lastUsedOn: isoTime(session.seenAtMs),
  expiresOn: isoTime(session.expiresAtMs),
  address: session.address,
  userAgent: session.userAgent,
})

/** Sends the signed-in user, and what the first page needs. */
export async function sendInfo(api: DashboardApi, reply: FastifyReply, signedIn: SignedIn): Promise<FastifyReply> {
  const { id, email, role, accountId, session } = signedIn
  const account = await api.ctx.store.read.accounts.get(accountId)
  const secrets = await listSecrets(api.ctx, accountId)
  const info: Static<typeof SessionInfo> = {
    user: { id, email, role },
    account: { id: accountId, name: account?.name ?? '' },
    session: { id: session.id, createdOn: isoTime(session.createdAtMs), expiresOn: isoTime(session.expiresAtMs) },
    version: api.version,
    hasApiSecret: secrets.length > 0,
  }
  return sendResult(reply, ok(info))
}
