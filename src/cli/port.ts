import { createServer } from 'node:net'

/**
 * Why nobody could listen there now, or null. Asked before anything is opened, so that a start that cannot succeed
 * writes nothing.
 */
export function portProblem(
  host: string,
  port: number,
  instead: Instead = { port: '--port', host: '--host' },
): Promise<{ code: string; message: string } | null> {
  const probe = createServer()
  return new Promise((resolve) => {
    probe.once('error', (error: NodeJS.ErrnoException) =>
      resolve({ code: error.code ?? '', message: explain(error, host, port, instead) }),
    )
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)))
  })
}

/** What to change when it does not work. */
interface Instead {
  readonly port: string
  readonly host: string
}

function explain(error: NodeJS.ErrnoException, host: string, port: number, instead: Instead): string {
  const place = `${host} port ${port}`
  if (error.code === 'EADDRINUSE')
    return `${place} is in use by another process; stop it, or choose another with ${instead.port}`
  if (error.code === 'EACCES')
    return `this user may not listen on ${place}; choose a port from 1024 up with ${instead.port}`
  if (error.code === 'EADDRNOTAVAIL')
    return `${host} is no address of this machine; choose another with ${instead.host}`
  return `cannot listen on ${place}: ${error.message}`
}

/** Where a client on this machine reaches a server that listens on `host`. */
export function reachableUrl(host: string, port: number): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}
