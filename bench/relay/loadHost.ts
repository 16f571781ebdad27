import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type Forwarder, ownAddress } from './contender.ts'
import { type Ramp, rampHere } from './untilLoss.ts'

/**
 * The load on another machine than the server, so that neither takes processor time from the other. The machine with the load
 * waits for a request that names the server, whose offers and CPU time it then asks over HTTP. Media goes from machine to machine.
 * Neither end asks who calls: for a network of one's own.
 */

/** A line for people, or at last the most viewers without loss. */
type Line = { readonly step: string } | { readonly carried: number } | { readonly problem: string }

/** The machine with the load: answers benches until the process ends. */
export async function serveLoad(port: number): Promise<void> {
  const server = createServer((request, response) => void ramp(request, response))
  console.log(`Waits for benches at ${await listen(server, port)}`)
  await once(server, 'close')
}

async function ramp(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const tell = (line: Line): unknown => response.write(`${JSON.stringify(line)}\n`)
  try {
    const forwarder = forwarderAt(await text(request))
    tell({ carried: await rampHere(forwarder, (step) => tell({ step })) })
  } catch (error) {
    tell({ problem: String(error) })
  }
  response.end()
}

/** A ramp with the load at `host`, which is an address with a port. @throws what went wrong there */
export const rampAt =
  (host: string): Ramp =>
  async (forwarder, tell) => {
    const server = createServer((request, response) => void answer(forwarder, request, response))
    const url = await listen(server, 0)
    try {
      const response = await fetch(`http://${host}`, { method: 'POST', body: url })
      if (response.body === null) throw new Error(`${host} gave no answer`)
      for await (const json of createInterface(Readable.fromWeb(response.body))) {
        const line = JSON.parse(json) as Line
        if ('carried' in line) return line.carried
        if ('problem' in line) throw new Error(`${host}: ${line.problem}`)
        tell(line.step)
      }
      throw new Error(`${host} ended before its result`)
    } finally {
      server.close()
    }
  }

/** Beside a server: does for the machine with the load what the path says. */
async function answer(forwarder: Forwarder, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const offer = await text(request)
  if (request.url === '/publish') response.end(await forwarder.publish(offer))
  else if (request.url === '/cpu') response.end(`${await forwarder.cpuNs()}`)
  // Our servers take an offer; they make none.
  else
    await forwarder.view({ offer: async () => offer, accept: async (sdp) => void response.end(sdp), answer: refused })
}

const refused = (): Promise<never> => Promise.reject(new Error('the machine with the load makes the offers'))

/** Beside the load: a server that is reached by `answer`. */
function forwarderAt(url: string): Forwarder {
  const ask = async (path: string, offer = ''): Promise<string> => {
    const response = await fetch(`${url}/${path}`, { method: 'POST', body: offer })
    return response.text()
  }
  return {
    publish: (offer) => ask('publish', offer),
    view: async (viewer) => viewer.accept(await ask('view', await viewer.offer())),
    cpuNs: async () => Number(await ask('cpu')),
  }
}

async function listen(server: Server, port: number): Promise<string> {
  server.listen(port, ownAddress())
  await once(server, 'listening')
  return `http://${ownAddress()}:${(server.address() as AddressInfo).port}`
}
