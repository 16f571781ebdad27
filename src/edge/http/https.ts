import { type IncomingMessage, type RequestListener, type ServerOptions, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { Socket } from 'node:net'
import type { Validity } from '../../core/certificates/renewal.ts'
import type { Said } from '../../core/notices.ts'
import type { ServedCertificate } from '../../tls/served.ts'
import type { HttpConnections } from './connections.ts'

export interface HttpsOptions {
  readonly certificate: ServedCertificate
  /** For how long browsers may use only https, now; 0: Sluice does not say. */
  readonly hstsSeconds: () => number
  /** The certificate of our own authority, for people who let their devices trust it. */
  readonly authority: string | null
}

/** As of `tls/certificate.ts`, which only types may come from. */
const PROTOCOL = { minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'] } as const

/**
 * A server whose new connections have the current certificate. Its session tickets belong to a certificate, so that a
 * client which resumes a session never gets around a new one.
 */
export function httpsServer(
  { certificate }: HttpsOptions,
  settings: ServerOptions,
  listener: RequestListener,
  connections: HttpConnections,
): Server {
  const { cert, key } = certificate.current
  const server = createServer({ ...settings, ...PROTOCOL, cert, key, ServerResponse: InPieces }, listener)
  certificate.onChange((now) => server.setSecureContext({ cert: now.cert, key: now.key, ...PROTOCOL }))
  // Otherwise Node takes a failed handshake for a bad request, and an answer would be written to it.
  server.removeAllListeners('tlsClientError')
  server.on('tlsClientError', (_error: Error, socket: Socket) => socket.destroy())
  connections.attachTls(server)
  return server
}

/** RFC 6797. Browsers heed it only over https. */
export function addHsts(response: ServerResponse, { hstsSeconds }: HttpsOptions): void {
  const seconds = hstsSeconds()
  if (seconds > 0) response.setHeader('Strict-Transport-Security', `max-age=${seconds}`)
}

/** When the served certificate is valid, whether clients refuse it, and why the latest replacement failed. */
export function servedFacts({
  certificate: { current, isTemporary, problem },
}: HttpsOptions): Validity & { isTemporary: boolean; problem: Said | null } {
  const { beginsMs, expiresMs } = current
  return { beginsMs, expiresMs, isTemporary, problem }
}

const PIECE_BYTES = 256 * 1024

/**
 * An answer that is encrypted piece by piece, as its client takes it. Node encrypts all that it is given, into memory of
 * its own, also for a client that reads nothing.
 */
class InPieces<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  override end(...given: unknown[]): this {
    const [body, encoding] = given
    const bytes = typeof body === 'string' ? Buffer.from(body, encoding as BufferEncoding) : body
    const isLong = bytes instanceof Uint8Array && bytes.length > PIECE_BYTES && this.req.method !== 'HEAD'
    if (!isLong) return super.end(...(given as Parameters<ServerResponse['end']>))
    this.#send(bytes, 0)
    return this
  }

  #send(bytes: Uint8Array, from: number): void {
    const next = from + PIECE_BYTES
    if (next >= bytes.length) super.end(bytes.subarray(from))
    else if (this.write(bytes.subarray(from, next))) this.#send(bytes, next)
    else this.once('drain', () => this.#send(bytes, next))
  }
}
