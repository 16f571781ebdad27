import { once } from 'node:events'
import { createServer as createHttp, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from 'node:net'
import type { Identity } from './certificates.ts'

export interface Received {
  method: string | undefined
  path: string | undefined
  headers: IncomingMessage['headers']
  body: Buffer
}

/** A server on loopback that counts its connections and keeps the received requests. */
export interface Receiver {
  port: number
  connections: number
  requests: Received[]
  stop(): Promise<void>
}

/** An HTTP receiver; with an identity it speaks TLS. `answer` runs when the whole request has been read. */
export function httpReceiver(
  answer: RequestListener = (_request, response) => response.end('thank you'),
  at: { identity?: Identity; address?: string; port?: number } = {},
): Promise<Receiver> {
  const requests: Received[] = []
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method, url: path, headers } = request
      requests.push({ method, path, headers, body: Buffer.concat(chunks) })
      answer(request, response)
    })
  }
  const server = at.identity ? createHttps(at.identity, listener) : createHttp(listener)
  return listen(server, requests, at.address, at.port)
}

/** A receiver below HTTP: what it does with a connection is up to the test. */
export function tcpReceiver(handle: (socket: Socket) => void): Promise<Receiver> {
  return listen(createTcp(handle), [])
}

async function listen(server: Server, requests: Received[], address = '127.0.0.1', port = 0): Promise<Receiver> {
  const sockets = new Set<Socket>()
  const receiver: Receiver = {
    port: 0,
    connections: 0,
    requests,
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  server.on('connection', (socket: Socket) => {
    receiver.connections += 1
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(port, address)
  await once(server, 'listening')
  receiver.port = (server.address() as AddressInfo).port
  return receiver
}
