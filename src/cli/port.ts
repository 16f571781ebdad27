import { createServer } from 'node:net'
import type { Config } from '../config/schema.ts'
import { speaksTls } from '../config/tlsSource.ts'

/**
 * Why nothing can listen there now, or null. Called before anything is opened, so that a start that must fail writes
 * nothing.
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

/** The settings to change in case of an error. */
interface Instead {
  readonly port: string
  readonly host: string
}

function explain(error: NodeJS.ErrnoException, host: string, port: number, instead: Instead): string {
  const endpoint = `${host} port ${port}`
  if (error.code === 'EADDRINUSE')
    return `${endpoint} is in use by another process; stop it, or choose another with ${instead.port}`
  if (error.code === 'EACCES')
    return `this user may not listen on ${endpoint}; choose a port from 1024 up with ${instead.port}`
  if (error.code === 'EADDRNOTAVAIL')
    return `${host} is not an address of this machine; choose another with ${instead.host}`
  return `cannot listen on ${endpoint}: ${error.message}`
}

/** A one-time link to the dashboard. Browsers send what follows `#` to no server, so that no log has the code. */
export const setupLink = (base: string, code: string): string =>
  `${base.replace(/\/$/, '')}/dashboard/#/setup?code=${code}`

/** The URL of the configured server, for a client on this machine. @param port the one that it really listens on */
export const serverUrl = (config: Config, port = config.server.port): string =>
  reachableUrl(config.server.host, port, speaksTls(config) ? 'https' : 'http')

/** The URL for a client on this machine, of a server that listens on `host`. */
export function reachableUrl(host: string, port: number, scheme: 'http' | 'https' = 'http'): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `${scheme}://${name.includes(':') ? `[${name}]` : name}:${port}`
}
