// Loaded before src/main.ts when bin/sluice.js runs it as a child. File descriptor 3 is a pipe from the parent that
// nobody writes to: it ends when the parent is gone, even by SIGKILL, and then the child is asked to stop as its parent
// would have been. Without this a server whose wrapper was killed would keep its port.
import { Socket } from 'node:net'
import { isMainThread } from 'node:worker_threads'

// Threads load this too. One that ends would close the descriptor, and the next file that gets its number would stop the server.
if (isMainThread) {
  const parent = new Socket({ fd: 3, readable: true, writable: false })
  parent.on('error', () => {})
  parent.on('close', () => process.kill(process.pid, 'SIGTERM'))
  parent.resume()
  parent.unref()
}
