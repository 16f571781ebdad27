import { once } from 'node:events'
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { Agent, createServer, get, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { err, ok, type Result } from '../../../base/result.ts'
import { loadSendfile, type Sendfile } from '../../../base/sendfile.ts'
import { sendAtOnce } from './transfer.ts'

const SAMPLE = Buffer.from(Array.from({ length: 200_000 }, (_, at) => at * 7 + (at >> 8)))
/** The first part goes out at once, so that the proof covers the boundary to what Node sends. */
const PART_BYTES = 70_001
const TIMEOUT_MS = 5000

/**
 * The addon, if it is built and works with this Node and this kernel: two answers on one loopback connection must
 * arrive whole. Otherwise the reason, as a sentence for the log; Sluice then copies bodies.
 */
export async function openSendfile(sendfile = loadSendfile()): Promise<Result<Sendfile, string>> {
  if (sendfile === null) return err('The native sender is not built, or does not fit this Node.')
  const sends = await sendsAlike(sendfile).catch(() => false)
  return sends ? ok(sendfile) : err('The native sender does not send as it should; it is not used.')
}

async function sendsAlike(sendfile: Sendfile): Promise<boolean> {
  const file = await heldSample(sendfile)
  const server = serverOf(sendfile, file)
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
    if (file !== 0) sendfile.release(file)
  }
}

/** The sample in a file that is already unlinked. */
async function heldSample(sendfile: Sendfile): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-sendfile-'))
  try {
    const path = join(folder, 'sample')
    await writeFile(path, SAMPLE, { flag: 'wx' })
    const handle = await open(path)
    const file = sendfile.hold(handle.fd, SAMPLE.length)
    await handle.close()
    return file
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Answers with the sample, its first part through the addon. Breaks off if the addon sends nothing. */
function serverOf(sendfile: Sendfile, file: number): Server {
  return createServer((_request, answer) => {
    answer.writeHead(200, ['Content-Length', `${SAMPLE.length}`])
    const taken = sendAtOnce(sendfile, answer, { bytes: SAMPLE.subarray(0, PART_BYTES), file })
    if (taken === 0) answer.destroy()
    else answer.end(SAMPLE.subarray(taken))
  })
}

async function fetched(port: number, agent: Agent): Promise<Buffer> {
  const request = get({ host: '127.0.0.1', port, agent, signal: AbortSignal.timeout(TIMEOUT_MS) })
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  return buffer(answer)
}
