import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { PLAYS_MS } from '../../src/core/hls/nodes.ts'
import { nodeFetch, postToNode } from '../../src/net/nodeFetch.ts'
import { closingNode } from '../support/closingNode.ts'
import { until } from '../support/until.ts'

const get = nodeFetch(systemClock)

test('a request that another node meets with the close of an idle connection is sent again, once', async () => {
  const { port, asked } = await closingNode(1)
  let got = 0
  // Once a connection is used again.
  await until(async () => {
    expect(await get(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 200 })
    got += 1
    return asked() > got
  })
  expect(asked()).toBe(got + 1)
})

test('a node that closes every connection is asked twice', async () => {
  const { port, asked } = await closingNode(0)
  expect(await get(`http://127.0.0.1:${port}/`)).toBe(null)
  expect(asked()).toBe(2)
})

/** Whatever listens at the address of another node. */
async function serverThat(answers: RequestListener): Promise<string> {
  const server = createServer(answers)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

test('an answer with JSON is read up to 64 kB: parsing what a stranger sends would hold up everything else', async () => {
  const url = await serverThat((request, response) => {
    response.end(JSON.stringify('x'.repeat(request.url === '/short' ? 60_000 : 70_000)))
  })
  const post = postToNode(systemClock)
  expect(await post(`${url}short`, {}, 5000)).toMatchObject({ status: 200 })
  expect(await post(`${url}long`, {}, 5000)).toBe(null)
})

test.each([
  ['1e999', 60_000],
  ['-5', 0],
  ['soon', 0],
  ['1966.5', 1966.5],
])('a piece that plays for %s ms counts as %d', async (said, counted) => {
  const url = await serverThat((_request, response) => response.setHeader(PLAYS_MS, said).end('x'))
  expect(await get(url)).toMatchObject({ playsMs: counted })
})
