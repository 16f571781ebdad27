import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { HttpConnections } from '../../src/edge/http/connections.ts'
import { listenerOf } from '../../src/edge/http/listener.ts'

test('a fault of ours in a request that the framework did not see ended the server', async () => {
  const fault = new Error('a fault of ours')
  const faults: unknown[] = []
  const connections: Pick<HttpConnections, 'enter' | 'attach'> = {
    enter: (request, response, serve) => serve(request, response),
    attach: () => undefined,
  }
  const server = listenerOf(
    { requestTimeoutMs: 10_000 },
    {
      connections: connections as HttpConnections,
      isTaken: ({ url }) => {
        if (url === '/broken') throw fault
        return false
      },
      isEnding: () => false,
      handler: (_, response) => void response.end('as ever'),
      protocolErrors: { requestId: () => 'r', answered: () => undefined, endsWithAnswer: () => false },
      failed: (error, { socket }) => {
        faults.push(error)
        socket.destroy()
      },
    },
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  await expect(fetch(`http://127.0.0.1:${port}/broken`)).rejects.toThrow()
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('as ever')
  expect(faults).toEqual([fault])
})
