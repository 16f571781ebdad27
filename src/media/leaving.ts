import type { Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'

/** How long a target may say nothing and leave its last bytes unread. */
const SILENT_SECONDS = 5
/** One that says something for ever is left, too. */
const MAX_SECONDS = 30

/**
 * Ends the sending of a connection, and closes it when the target has closed its side. A socket that is closed while an answer
 * waits in it, or before one comes, resets the connection, and the target loses what is still under way. It counts looks and not
 * time, so that after a pause of this process it first sees what has come meanwhile.
 */
export async function leave(socket: Socket, clock: Clock): Promise<void> {
  socket.end()
  let [read, silent] = [socket.bytesRead, 0]
  for (let looks = 0; looks < MAX_SECONDS && silent < SILENT_SECONDS && !socket.destroyed; looks++) {
    await clock.sleep(1000)
    silent = socket.bytesRead === read ? silent + 1 : 0
    read = socket.bytesRead
  }
  socket.destroy()
}
