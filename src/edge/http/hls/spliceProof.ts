import { once } from 'node:events'
import { Agent, createServer, get, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { systemClock } from '../../../base/clock.ts'
import { err, ok, type Result } from '../../../base/result.ts'
import { loadSplice, type Splice } from '../../../base/splice.ts'
import { type WatchedPath, WatchedConnections } from '../watchedConnections.ts'
import { sendAtOnce } from './sendAtOnce.ts'

const SAMPLE = Buffer.from(Array.from({ length: 200_000 }, (_, at) => at * 7 + (at >> 8)))
/** What the addon sends, so that the proof covers the boundary to what Node sends. Parts begin and end inside pages. */
const PARTS = [SAMPLE.subarray(0, 1), SAMPLE.subarray(1, 66_002), SAMPLE.subarray(66_002, 70_001)]
const HEAD = `HTTP/1.1 200 OK\r\nContent-Length: ${SAMPLE.length}\r\n\r\n`
const TIMEOUT_MS = 5000

/** Requests of one connection, and who has to answer them. Node answers the first request of each connection. */
const WATCHED = '/hls/watched'
const SHOWN = [
  { url: WATCHED, byAddon: 0 },
  { url: WATCHED, byAddon: 1 },
  { url: '/hls/other', byAddon: 1 },
  { url: WATCHED, byAddon: 2 },
]

/**
 * The addon, if it is built and works with this Node and this kernel: on one loopback connection, answers of Node and of
 * the addon must arrive whole. Otherwise the reason, as a sentence for the log; Sluice then copies segments.
 */
export async function openSplice(splice = loadSplice()): Promise<Result<Splice, string>> {
  if (splice === null) return err('The native sender is not built, or does not fit this Node.')
  const sends = await sendsAlike(splice).catch(() => false)
  return sends ? ok(splice) : err('The native sender does not send as it should; it is not used.')
}

interface Proved {
  readonly server: Server
  /** Resolves when Node has no answer under way. Only then may the addon have the next request. */
  readonly ended: () => Promise<unknown>
}

async function sendsAlike(splice: Splice): Promise<boolean> {
  const [start, whole] = [splice.join(PARTS), splice.join([SAMPLE])]
  if (start === null || whole === null) return false
  const path: WatchedPath = ({ url }) => (url === WATCHED ? { head: HEAD, body: whole } : null)
  const watched = new WatchedConnections(splice, { clock: systemClock, connections: { begin: () => undefined }, path })
  const { server, ended } = serverOf(splice, watched, start)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  try {
    watched.attach(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    for (const { url, byAddon } of SHOWN) {
      if (!(await fetched(port, agent, url)).equals(SAMPLE) || watched.answered !== byAddon) return false
      await ended()
    }
    return true
  } finally {
    agent.destroy()
    server.close()
    server.closeAllConnections()
    watched.close()
  }
}

/** Answers with the sample, its first part through the addon. Breaks off if the addon sends nothing. */
function serverOf(splice: Splice, watched: WatchedConnections, start: Buffer): Proved {
  let ended: Promise<unknown> = Promise.resolve()
  const server = createServer((request, answer) => {
    watched.requested(request, answer)
    ended = once(answer, 'close')
    answer.writeHead(200, ['Content-Length', `${SAMPLE.length}`])
    const taken = sendAtOnce(splice, answer, start)
    if (taken === 0) answer.destroy()
    else answer.end(SAMPLE.subarray(taken))
  })
  return { server, ended: () => ended }
}

async function fetched(port: number, agent: Agent, path: string): Promise<Buffer> {
  const request = get({ host: '127.0.0.1', port, agent, path, signal: AbortSignal.timeout(TIMEOUT_MS) })
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  return buffer(answer)
}
