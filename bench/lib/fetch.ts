import { connect, type Socket } from 'node:net'

/** Files to fetch repeatedly for a bounded time. */
export interface Fetch {
  readonly port: number
  readonly paths: readonly string[]
  readonly connections: number
  readonly durationMs: number
}

/**
 * A closed loop of keep-alive connections on loopback, each with one request in flight, over all paths in turn. Returns
 * the body bytes. Any status but 200 is an error, because the bench would measure something else.
 */
export async function fetchBytes({ port, paths, connections, durationMs }: Fetch): Promise<number> {
  const until = performance.now() + durationMs
  const each = Array.from({ length: connections }, (_, first) => fetchOn(port, paths, first, until))
  return (await Promise.all(each)).reduce((sum, bytes) => sum + bytes, 0)
}

function fetchOn(port: number, paths: readonly string[], first: number, until: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let next = first
    let bytes = 0
    let left = 0
    const ask = (): void => {
      const path = paths[next++ % paths.length]
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n\r\n`)
    }
    const read = (size: number, buffer: Uint8Array): boolean => {
      if (left === 0) {
        const head = headOf(Buffer.from(buffer.buffer, buffer.byteOffset, size))
        if (typeof head === 'string') {
          reject(new Error(head))
          socket.destroy()
          return false
        }
        bytes += head.length
        left = head.end + head.length
      }
      left -= size
      if (left > 0) return true
      if (performance.now() < until) ask()
      else {
        socket.destroy()
        resolve(bytes)
      }
      return true
    }
    // One buffer for all reads, so that the client costs little compared with the server.
    const onread = { buffer: Buffer.alloc(262_144), callback: read }
    const socket: Socket = connect({ host: '127.0.0.1', port, noDelay: true, onread })
    socket.on('connect', ask)
    socket.on('error', reject)
  })
}

/** The end of an answer's head, and the length of its body. Both servers write the whole head at once. */
function headOf(chunk: Buffer): { end: number; length: number } | string {
  const end = chunk.indexOf('\r\n\r\n') + 4
  const text = chunk.toString('latin1', 0, Math.max(end, 400))
  const length = /content-length: (\d+)/i.exec(text)?.[1]
  return end < 4 || length === undefined || !text.startsWith('HTTP/1.1 200') ? text : { end, length: Number(length) }
}
