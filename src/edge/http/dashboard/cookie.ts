import type { FastifyReply, FastifyRequest } from 'fastify'
import { SESSION_LIFETIME_MS } from '../../../core/users/session.ts'
import { isEncrypted } from '../peer.ts'

const NAME = 'sluice_session'

/** Without `Path`: browsers then take the folder of the request, `/dashboard/api`, also behind a prefix of a proxy. */
const ATTRIBUTES = 'HttpOnly; SameSite=Strict'

/**
 * The session value of a request. Null without one, and with several: then another page of this site may have planted
 * one, and Sluice does not guess which is the user's.
 */
export function sessionValue({ headers: { cookie = '' } }: FastifyRequest): string | null {
  const values = cookie
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${NAME}=`))
  return values.length === 1 ? (values[0] ?? '').slice(NAME.length + 1) : null
}

/** Only routes directly below `/dashboard/api` may set it, because that is where the browser keeps it. */
export function setSession(request: FastifyRequest, reply: FastifyReply, value: string): void {
  write(request, reply, `${value}; Max-Age=${SESSION_LIFETIME_MS / 1000}`)
}

export function clearSession(request: FastifyRequest, reply: FastifyReply): void {
  write(request, reply, '; Max-Age=0')
}

function write(request: FastifyRequest, reply: FastifyReply, value: string): void {
  reply.header('Set-Cookie', `${NAME}=${value}; ${ATTRIBUTES}${isSecure(request) ? '; Secure' : ''}`)
}

/**
 * Whether the page came by https. Browsers say so in `Origin`, which reaches Sluice through every proxy. A client that
 * lies gets a cookie that its own browser does not send.
 */
const isSecure = ({ headers: { origin }, socket }: FastifyRequest): boolean =>
  isEncrypted(socket) || origin?.startsWith('https://') === true
