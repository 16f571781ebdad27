import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { areFor, asUrlHost } from '../../base/certificateNames.ts'
import { paceChunks } from './chunkedBodies.ts'

export interface RedirectOptions {
  /** The present port of https:// in addresses. */
  readonly httpsPort: () => number
  /** The present names and addresses of this server: of its certificate (`*.` stands for one label), and of its URLs. */
  readonly names: () => readonly string[]
  /** Null: there is no such challenge. Absent: this server has no ACME. */
  readonly challenge?: (token: string) => Promise<string | null>
}

const CHALLENGE = '/.well-known/acme-challenge/'
/** Requests here are a few lines, and a client has no reason to hold its connection. */
const LIMITS = { requestTimeout: 10_000, headersTimeout: 10_000, keepAliveTimeout: 1000, maxHeaderSize: 8192 }
const CONNECTIONS_MAX = 1000

/** Sends http:// requests to https://, and answers the challenges of a certificate authority (RFC 8555 section 8.3). */
export function redirectServer(options: RedirectOptions): Server {
  const server = createServer({ ...LIMITS, connectionsCheckingInterval: 5000 }, (request, response) => {
    paceChunks(request)
    answer(request, response, options).catch(() => response.destroy())
  })
  server.maxConnections = CONNECTIONS_MAX
  // A packet has room for a thousand requests.
  server.maxRequestsPerSocket = 1
  return server
}

async function answer(request: IncomingMessage, response: ServerResponse, options: RedirectOptions): Promise<void> {
  const { url = '' } = request
  if (options.challenge && url.startsWith(CHALLENGE)) {
    const text = await options.challenge(url.slice(CHALLENGE.length))
    response.writeHead(text === null ? 404 : 200, { 'Content-Type': 'text/plain' }).end(text ?? '')
    return
  }
  const host = hostOf(request)
  if (host === null) return refuse(response, 400, 'A Host header is required.')
  if (!areFor(options.names(), host)) return refuse(response, 421, UNKNOWN_HOST)
  const port = options.httpsPort()
  const location = `https://${host}${port === 443 ? '' : `:${port}`}${url.startsWith('/') ? url : '/'}`
  // 308 keeps the method: a POST to WHIP stays one.
  response.writeHead(308, { Location: location, 'Cache-Control': 'no-store' }).end()
}

/** Else a request with a forged `Host` would lead from this server to any other. */
const UNKNOWN_HOST = 'Neither the certificate nor server.publicUrl of this server has this host.'

function refuse(response: ServerResponse, status: 400 | 421, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-store' }).end(`${text}\n`)
}

/** A host name or an address, without its port. */
const HOST = /^(\[[0-9a-f:.]+\]|[\w.-]{1,253})(?::\d{1,5})?$/i

/** The host that the client means, as URLs write it; null: it does not say. */
function hostOf({ headers }: IncomingMessage): string | null {
  const [, host = ''] = HOST.exec(headers.host ?? '') ?? []
  return asUrlHost(host)
}
