import { request as plainRequest } from 'node:http'
import { request as encryptedRequest } from 'node:https'
import { networkInterfaces } from 'node:os'
import type { Config } from '../config/schema.ts'
import { type Finding, found } from '../core/examination.ts'
import { portProblem, serverUrl } from './port.ts'

const ANSWER_TIMEOUT_MS = 2000

/**
 * Whether the port is free, or in use by a Sluice that answers.
 * @param ownServer the process of a server with the same data directory; null: none runs
 */
export async function checkPort(config: Config, ownServer: () => Promise<number | null>): Promise<Finding> {
  const { host, port } = config.server
  const problem = await portProblem(host, port)
  if (problem === null) return found('ok', 'port', 'port_free', { host, port })
  const isTaken = problem.code === 'EADDRINUSE'
  if (isTaken && (await answers(serverUrl(config)))) return found('ok', 'port', 'port_answers', { host, port })
  const pid = isTaken ? await ownServer() : null
  if (pid !== null) return found('FAIL', 'port', 'port_hangs', { host, port, pid })
  return found('FAIL', 'port', 'text', { text: problem.message })
}

/** Whether others can reach hosts that listen on IPv4 alone, which is the default. @param interfaces of this machine */
export function checkHosts({ server, rtmp, srt }: Config, interfaces = networkInterfaces()): Finding[] {
  const addresses = Object.values(interfaces).flatMap((list = []) => list.filter(({ internal }) => !internal))
  const isIpv6Alone =
    addresses.every(({ family }) => family === 'IPv6') && addresses.some(({ scopeid = 0 }) => scopeid === 0)
  if (!isIpv6Alone) return []
  const hosts = {
    'server.host': server.host,
    ...(rtmp.enabled ? { 'rtmp.host': rtmp.host } : {}),
    ...(srt.enabled ? { 'srt.host': srt.host } : {}),
  }
  const keys = Object.entries(hosts).flatMap(([key, host]) => (host === '0.0.0.0' ? [key] : []))
  return keys.length === 0 ? [] : [found('warn', 'port', 'host_ipv4', { keys: keys.join(', ') })]
}

/** Whether a Sluice answers on the configured port. */
export const isServing = async (config: Config): Promise<boolean> =>
  config.server.port !== 0 && (await answers(serverUrl(config)))

/** Whatever its certificate: on this machine the name may be another, and nothing secret is sent. */
function answers(url: string): Promise<boolean> {
  const request = url.startsWith('https:') ? encryptedRequest : plainRequest
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
  return new Promise((resolve) => {
    const asking = request(`${url}/healthz`, { signal, rejectUnauthorized: false }, (response) => {
      resolve(response.statusCode === 200 && response.headers['x-request-id'] !== undefined)
      response.destroy()
    })
    asking.on('error', () => resolve(false))
    asking.end()
  })
}
