import type { FastifyReply, FastifyRequest } from 'fastify'
import { KNOWN_BROWSER_MS, SESSION_LIFETIME_MS } from '../../../core/users/session.ts'
import { isEncrypted } from '../peer.ts'

const SESSION = 'sluice_session'

/** Has the sign of a browser in which a user signed in before. Signing out leaves it. */
const BROWSER = 'sluice_browser'

/** Without `Path`: browsers then take the folder of the request, `/dashboard/api`, also behind a prefix of a proxy. */
const ATTRIBUTES = 'HttpOnly; SameSite=Strict'

/** The session value of a request; null: none. */
export const sessionValue = (request: FastifyRequest): string | null => valueOf(request, SESSION)

/** The sign of the browser; null: none. */
export const browserSign = (request: FastifyRequest): string | null => valueOf(request, BROWSER)

/**
 * Null without a value, and with several: then another page of this site may have planted one, and Sluice does not guess
 * which is the user's.
 */
function valueOf({ headers: { cookie = '' } }: FastifyRequest, name: string): string | null {
  const values = cookie
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${name}=`))
  return values.length === 1 ? (values[0] ?? '').slice(name.length + 1) : null
}

/** Only routes directly below `/dashboard/api` may set it, because that is where the browser keeps it. */
export function setSession(request: FastifyRequest, reply: FastifyReply, value: string): void {
  write(request, reply, `${SESSION}=${value}; Max-Age=${SESSION_LIFETIME_MS / 1000}`)
}

export function clearSession(request: FastifyRequest, reply: FastifyReply): void {
  write(request, reply, `${SESSION}=; Max-Age=0`)
}

/** As `setSession`, for the sign of the browser. */
export function setBrowserSign(request: FastifyRequest, reply: FastifyReply, sign: string): void {
  write(request, reply, `${BROWSER}=${sign}; Max-Age=${KNOWN_BROWSER_MS / 1000}`)
}

function write(request: FastifyRequest, reply: FastifyReply, cookie: string): void {
  reply.header('Set-Cookie', `${cookie}; ${ATTRIBUTES}${isSecure(request) ? '; Secure' : ''}`)
}

/**
 * Whether the page came by https. Browsers say so in `Origin`, which reaches Sluice through every proxy. A client that
 * lies gets a cookie that its own browser does not send.
 */
const isSecure = ({ headers: { origin }, socket }: FastifyRequest): boolean =>
  isEncrypted(socket) || origin?.startsWith('https://') === true
