import { connect } from 'node:net'

/**
 * A closed loop of keep-alive connections on loopback, each with one request in flight, for a bounded time. Returns the
 * number of answers with 200; any other status is an error, because the bench would measure something else.
 *
 * The loop never sleeps. The kernel charges waking a sleeping client to the server that writes. A slow server pays this
 * more often than a fast one, so the difference would count twice.
 */
export async function load(port: number, request: Buffer, connections: number, durationMs: number): Promise<number> {
  const until = performance.now() + durationMs
  const stayAwake = (): void => {
    if (performance.now() < until) setImmediate(stayAwake)
  }
  stayAwake()
  const counts = await Promise.all(Array.from({ length: connections }, () => oneConnection(port, request, until)))
  return counts.reduce((sum, count) => sum + count, 0)
}

function oneConnection(port: number, request: Buffer, until: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true })
    let answered = 0
    let buffer = Buffer.alloc(0)
    socket.on('connect', () => socket.write(request))
    socket.on('error', reject)
    socket.on('data', (chunk) => {
      buffer = buffer.length === 0 ? chunk : Buffer.concat([buffer, chunk])
      const end = answerEnd(buffer)
      if (end === null) return
      if (!buffer.subarray(0, 12).equals(OK)) {
        reject(new Error(buffer.toString('latin1', 0, 400)))
        return
      }
      buffer = buffer.subarray(end)
      answered++
      if (performance.now() < until) {
        socket.write(request)
        return
      }
      socket.destroy()
      resolve(answered)
    })
  })
}

const OK = Buffer.from('HTTP/1.1 200')

/** The end of the first whole answer, or null while it is incomplete. */
function answerEnd(buffer: Buffer): number | null {
  const head = buffer.indexOf('\r\n\r\n')
  if (head < 0) return null
  const length = /content-length: (\d+)/i.exec(buffer.toString('latin1', 0, head))?.[1]
  const end = head + 4 + Number(length ?? 0)
  return buffer.length >= end ? end : null
}

export function postRequest(path: string, body: string, headers: Record<string, string>): Buffer {
  const lines = Object.entries({ host: 'localhost', 'content-type': 'application/json', ...headers })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}
