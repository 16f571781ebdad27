import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/** Linux gives out ports from 32768 on by itself, other systems from 49152 on: no port 0 of any program gets one of these. */
const FIRST = 10_000
const COUNT = 10_000
/** A port belongs to the process that listens on the one this much higher. */
const CLAIM = 10_000

/** Processes begin apart, so that they seldom try the same ports. */
let tried = process.pid * 31

/**
 * A port for TCP and UDP on loopback that no other test uses before this process ends, whether it is bound or not. It is
 * for a server whose configuration has a port before the server listens: in its own public URL, in the file of another
 * program, or to start there again. All others listen on port 0, and the test reads which one it became.
 */
export async function ownPort(): Promise<number> {
  for (const lastTry = tried + COUNT; tried < lastTry; ) {
    const port = FIRST + (tried++ % COUNT)
    const claim = await listenOn(port + CLAIM)
    if (claim === null) continue
    claim.unref()
    if (await isFree(port)) return port
    claim.close()
  }
  throw new Error('no port is left')
}

/** Another program may have a port of the range in its configuration. */
async function isFree(port: number): Promise<boolean> {
  const server = await listenOn(port)
  if (server === null) return false
  const socket = createSocket('udp4')
  const isBound = await once(socket.bind(port, '127.0.0.1'), 'listening').then(
    () => true,
    () => false,
  )
  socket.close()
  server.close()
  await once(server, 'close')
  return isBound
}

/** Null: the port is taken. */
async function listenOn(port: number): Promise<Server | null> {
  const server = createServer()
  return once(server.listen(port, '127.0.0.1'), 'listening').then(
    () => server,
    () => null,
  )
}
