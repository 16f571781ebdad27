import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'

export interface RedirectOptions {
  /** The present port of https:// in addresses. */
  readonly httpsPort: () => number
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
  const target = httpsUrl(request, options.httpsPort())
  if (target === null) response.writeHead(400, { 'Content-Type': 'text/plain' }).end('A Host header is required.\n')
  // 308 keeps the method: a POST to WHIP stays one.
  else response.writeHead(308, { Location: target, 'Cache-Control': 'no-store' }).end()
}

/** A host name or an address, without its port. */
const HOST = /^(\[[0-9a-f:.]+\]|[\w.-]{1,253})(?::\d{1,5})?$/i

/** The same place over https; null: the client does not say which host it means. */
function httpsUrl({ url = '', headers }: IncomingMessage, port: number): string | null {
  const [, host] = HOST.exec(headers.host ?? '') ?? []
  if (host === undefined) return null
  return `https://${host}${port === 443 ? '' : `:${port}`}${url.startsWith('/') ? url : '/'}`
}
