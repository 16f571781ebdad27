import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Receiver {
  readonly url: string
  /** The bodies so far. */
  readonly received: string[]
  /** What it answers from now on. */
  answer: { status: number; body: string }
  close(): void
}

/** A server of an integrator, which answers what the test wants. */
export async function receive(): Promise<Receiver> {
  const received: string[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push(Buffer.concat(chunks).toString())
      response.writeHead(one.answer.status, { 'content-type': 'text/html' }).end(one.answer.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/`
  const one: Receiver = { url, received, answer: { status: 200, body: 'ok' }, close: () => void server.close() }
  return one
}
