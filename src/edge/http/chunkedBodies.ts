import type { IncomingMessage } from 'node:http'
import { OwnTurns } from '../../base/turns.ts'
import { handleOf } from './socketHandle.ts'

/** Of this process. */
const turns = new OwnTurns()

/**
 * Has a body in chunks read once in each turn of the event loop, of all connections together: a chunk of a byte costs as much as one of a
 * kilobyte, and Node reads two megabytes of a connection before it turns to the others.
 */
export function paceChunks(request: IncomingMessage): void {
  if (request.headers['transfer-encoding'] === undefined) return
  const { socket } = request
  const stop = (): void => {
    if (request.complete) return void socket.off('data', stop)
    handleOf(socket)?.readStop()
    setImmediate(() => turns.take(() => void handleOf(socket)?.readStart()))
  }
  // Without a listener the parser takes its bytes where nothing can come between them.
  socket.on('data', stop)
  stop()
}
