import { createSocket } from 'node:dgram'
import { createServer, isIPv6 } from 'node:net'
import { mediaProcessCount } from '../base/processors.ts'
import type { Config } from '../config/schema.ts'
import { speaksTls } from '../config/tlsSource.ts'

/** Why nothing can listen there now. */
export interface PortProblem {
  readonly code: string
  readonly message: string
}

const HTTP_INSTEAD = { port: 'server.port or --port', host: 'server.host or --host' }
export const RTMP_INSTEAD = { port: 'rtmp.port (or switch it off with rtmp.enabled)', host: 'rtmp.host' }
export const RTMPS_INSTEAD = { ...RTMP_INSTEAD, port: 'rtmp.tlsPort' }
export const REDIRECT_INSTEAD = { ...HTTP_INSTEAD, port: 'tls.redirectPort' }
export const SRT_INSTEAD = { port: 'srt.port (or switch it off with srt.enabled)', host: 'srt.host' }
export const WEBRTC_INSTEAD = { port: 'webrtc.port', host: 'webrtc.host' }

/**
 * Why a server with this configuration cannot listen now, or null. Media processes start with the first publisher or viewer, and
 * would be the first to notice.
 */
export async function listenProblem({ server, rtmp, srt, tls, webrtc }: Config): Promise<PortProblem | null> {
  const rtmps = rtmp.enabled ? rtmp.tlsPort : 0
  const media = webrtc.port === 0 ? 0 : mediaProcessCount(webrtc.processes)
  return (
    (await portProblem(server.host, server.port)) ??
    (rtmp.enabled ? await portProblem(rtmp.host, rtmp.port, RTMP_INSTEAD) : null) ??
    (rtmps === 0 ? null : await portProblem(rtmp.host, rtmps, RTMPS_INSTEAD)) ??
    (await portProblem(server.host, tls.redirectPort, REDIRECT_INSTEAD)) ??
    (srt.enabled ? await udpPortProblem(srt.host, srt.port, SRT_INSTEAD) : null) ??
    (await firstOf(media, (at) => udpPortProblem(webrtc.host || '::', webrtc.port + at, WEBRTC_INSTEAD)))
  )
}

async function firstOf(
  count: number,
  problemAt: (at: number) => Promise<PortProblem | null>,
): Promise<PortProblem | null> {
  const problems = await Promise.all(Array.from({ length: count }, (_, at) => problemAt(at)))
  return problems.find((problem) => problem !== null) ?? null
}

/** Why nothing can listen on this port of TCP now, or null. */
export function portProblem(host: string, port: number, instead: Instead = HTTP_INSTEAD): Promise<PortProblem | null> {
  const probe = createServer()
  return new Promise((resolve) => {
    probe.once('error', (error: NodeJS.ErrnoException) =>
      resolve({ code: error.code ?? '', message: explainListening(error, host, port, instead) }),
    )
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)))
  })
}

/** Why nothing can listen on this port of UDP now, or null. */
export function udpPortProblem(
  host: string,
  port: number,
  instead: Instead = WEBRTC_INSTEAD,
): Promise<PortProblem | null> {
  const isIpv6 = isIPv6(host)
  const probe = createSocket({ type: isIpv6 ? 'udp6' : 'udp4' })
  return new Promise((resolve) => {
    probe.once('error', (error: NodeJS.ErrnoException) => {
      probe.close()
      // Without IPv6, `::` cannot be bound.
      if (error.code === 'EAFNOSUPPORT' && isIpv6) resolve(udpPortProblem('0.0.0.0', port, instead))
      else resolve({ code: error.code ?? '', message: explainListening(error, host, port, instead) })
    })
    probe.bind({ address: host, port, exclusive: true }, () => probe.close(() => resolve(null)))
  })
}

/** The settings to change in case of an error. */
interface Instead {
  readonly port: string
  readonly host: string
}

/** Why nothing can listen there, and what to change. @param error of `listen` or `bind` */
export function explainListening(
  error: NodeJS.ErrnoException,
  host: string,
  port: number,
  instead: Instead = HTTP_INSTEAD,
): string {
  // Every address: nothing that an operator has written.
  const at = host === '::' ? '' : `${host} `
  // An error of a socket for datagrams names `bind`, one of TCP `listen`.
  const endpoint = `${at}${error.syscall === 'bind' ? 'UDP ' : ''}port ${port}`
  if (error.code === 'EADDRINUSE')
    return `${endpoint} is in use by another process; stop it, or choose another with ${instead.port}`
  if (error.code === 'EACCES')
    return `this user may not listen on ${endpoint}; give it CAP_NET_BIND_SERVICE, or choose a port from 1024 up with ${instead.port}`
  if (error.code === 'EADDRNOTAVAIL')
    return `${host} is not an address of this machine; choose another with ${instead.host}`
  return `cannot listen on ${endpoint}: ${error.message}`
}

/** Where people reach the server, as `server.publicUrl` promises. @param port the one that it really listens on */
export const peopleUrl = (config: Config, port = config.server.port): string =>
  config.server.publicUrl || config.server.nodeUrl || serverUrl(config, port)

/** Where people reach what only this node has, such as the files of its recordings. */
export const nodeUrlOf = (config: Config): string =>
  (config.server.nodeUrl || config.server.publicUrl || serverUrl(config)).replace(/(?<!\/)\/+$/, '')

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
