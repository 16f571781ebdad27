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
 * A port for TCP and UDP on loopback that no other test uses before this process ends, whether it is bound or not. All others
 * listen on port 0, and the test reads which one it became. That is not possible where
 * - the configuration of Sluice names the port: in a `nodeUrl`, or where 0 means none (`rtmp.tlsPort`, `tls.redirectPort`),
 * - another program listens there, and its command line or file names the port: nginx, Varnish, PgBouncer, PostgreSQL, pebble,
 *   coturn, ffmpeg as a source, the receivers of the documentation,
 * - a server starts there again: meanwhile port 0 of another test could become the same one,
 * - nothing may listen there,
 * - one number is used over UDP and TCP.
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
