import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface ClosingNode {
  readonly port: number
  /** How many requests came. */
  readonly asked: () => number
}

/** A node that answers the first `answered` requests of each connection with 200, and closes it at the next one. */
export async function closingNode(answered: number): Promise<ClosingNode> {
  let asked = 0
  const server = createServer((socket: Socket) => {
    let here = 0
    socket.on('error', () => undefined)
    socket.on('data', () => {
      asked += 1
      here += 1
      if (here > answered) socket.destroy()
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { port: (server.address() as AddressInfo).port, asked: () => asked }
}
