import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { walled } from '../../base/walls.ts'
import { paceChunks } from './chunkedBodies.ts'
import type { HttpConnections } from './connections.ts'
import { type FastPath, KEEP_ALIVE_MS } from './fastPath.ts'
import { addHsts, type HttpsOptions, httpsServer } from './https.ts'
import { openToPages } from './media/cors.ts'
import { type ProtocolErrorOptions, refuseHead, refuseUnserved } from './protocolErrors.ts'

const LOOK_MS = 5000

interface ListenerOptions {
  readonly requestTimeoutMs: number
  /** Absent: without TLS. */
  readonly https?: HttpsOptions
}

/** What answers the requests of a listener. */
interface Listening {
  readonly connections: HttpConnections
  readonly isTaken: FastPath
  /** Whether answers close their connections. */
  readonly isEnding: () => boolean
  readonly handler: RequestListener
  readonly protocolErrors: ProtocolErrorOptions
  /** Ends a request after a fault of ours that the framework did not see. */
  readonly failed: (error: unknown, request: Pick<IncomingMessage, 'socket'>) => void
}

/** Keeps the path of a request for a whole URL, as programs send it that take this server for a proxy (RFC 9112 section 3.2.2). */
function takePathOf(request: IncomingMessage): void {
  const [, path] = /^https?:\/\/[^/?]*(.*)$/i.exec(request.url ?? '') ?? []
  if (path !== undefined) request.url = path.startsWith('/') ? path : `/${path}`
}

/**
 * A server that passes a request to the framework unless a fast path has answered it. Every request has a time limit.
 */
export function listenerOf(
  { requestTimeoutMs, https }: ListenerOptions,
  { connections, isTaken, isEnding, handler, protocolErrors, failed }: Listening,
): Server {
  const settings = {
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    // Node finds slow requests by polling, by default only every 30 seconds.
    connectionsCheckingInterval: Math.min(requestTimeoutMs, LOOK_MS),
    keepAliveTimeout: KEEP_ALIVE_MS,
    // `refuseHead` checks it, so that the answer has our format.
    requireHostHeader: false,
  }
  const serve: RequestListener = walled((request: IncomingMessage, response: ServerResponse) => {
    if (https) addHsts(response, https)
    if (isEnding()) response.shouldKeepAlive = false
    takePathOf(request)
    paceChunks(request)
    if (refuseHead(request, response, protocolErrors) || isTaken(request, response)) return
    openToPages(request, response)
    handler(request, response)
  }, failed)
  const listener: RequestListener = (request, response) => connections.enter(request, response, serve)
  const server = https ? httpsServer(https, settings, listener, connections) : createServer(settings, listener)
  refuseUnserved(server, connections, protocolErrors)
  if (!https) connections.attach(server)
  return server
}
