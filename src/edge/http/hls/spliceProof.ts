import { once } from 'node:events'
import { Agent, createServer, get, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { err, ok, type Result } from '../../../base/result.ts'
import { loadSplice, type Splice } from '../../../base/splice.ts'
import { sendAtOnce } from './sendAtOnce.ts'

const SAMPLE = Buffer.from(Array.from({ length: 200_000 }, (_, at) => at * 7 + (at >> 8)))
/** What the addon sends, so that the proof covers the boundary to what Node sends. Parts begin and end inside pages. */
const PARTS = [SAMPLE.subarray(0, 1), SAMPLE.subarray(1, 66_002), SAMPLE.subarray(66_002, 70_001)]
const TIMEOUT_MS = 5000

/**
 * The addon, if it is built and works with this Node and this kernel: two answers on one loopback connection must
 * arrive whole. Otherwise the reason, as a sentence for the log; Sluice then copies segments.
 */
export async function openSplice(splice = loadSplice()): Promise<Result<Splice, string>> {
  if (splice === null) return err('The native sender is not built, or does not fit this Node.')
  const sends = await sendsAlike(splice).catch(() => false)
  return sends ? ok(splice) : err('The native sender does not send as it should; it is not used.')
}

async function sendsAlike(splice: Splice): Promise<boolean> {
  const joined = splice.join(PARTS)
  if (joined === null) return false
  const server = serverOf(splice, joined)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  try {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    for (let times = 0; times < 2; times++) if (!(await fetched(port, agent)).equals(SAMPLE)) return false
    return true
  } finally {
    agent.destroy()
    server.close()
    server.closeAllConnections()
  }
}

/** Answers with the sample, its first part through the addon. Breaks off if the addon sends nothing. */
function serverOf(splice: Splice, joined: Buffer): Server {
  return createServer((_request, answer) => {
    answer.writeHead(200, ['Content-Length', `${SAMPLE.length}`])
    const taken = sendAtOnce(splice, answer, joined)
    if (taken === 0) answer.destroy()
    else answer.end(SAMPLE.subarray(taken))
  })
}

async function fetched(port: number, agent: Agent): Promise<Buffer> {
  const request = get({ host: '127.0.0.1', port, agent, signal: AbortSignal.timeout(TIMEOUT_MS) })
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  return buffer(answer)
}
