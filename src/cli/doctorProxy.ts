import { isLoopback } from '../base/loopback.ts'
import type { Config } from '../config/schema.ts'
import { speaksTls } from '../config/tlsSource.ts'
import { CLAIMED_ADDRESS, type HealthReport } from '../core/health.ts'
import { type Finding, found } from '../core/examination.ts'

const CHECK = 'proxy'

/**
 * Whether Sluice learns the addresses of clients that come through a proxy. Rules of tokens depend on them.
 * @param report what a server told about a request through `server.publicUrl`; null: only the configuration is known
 */
export function checkProxy(config: Config, report: HealthReport | null): Finding[] {
  if (report === null) return judgeConfig(config)
  return isDirect(config, report) ? [] : judgeReport(report, needsProxy(config, config.server.publicUrl))
}

/** Nothing else on this machine can have the port of Sluice, so this request came from the doctor itself. */
const isDirect = ({ server: { publicUrl, port } }: Config, { from }: HealthReport): boolean =>
  isLoopback(from) && portOf(new URL(publicUrl)) === port

const portOf = ({ port, protocol }: URL): number => Number(port || (protocol === 'https:' ? 443 : 80))

/** A URL with https needs a proxy if Sluice does not speak TLS. */
const needsProxy = (config: Config, url: string): boolean => url.startsWith('https:') && !speaksTls(config)

function judgeConfig(config: Config): Finding[] {
  const { publicUrl, nodeUrl, trustedProxies } = config.server
  if (!needsProxy(config, publicUrl) && !needsProxy(config, nodeUrl)) return []
  if (trustedProxies.length > 0)
    return [found('ok', CHECK, `X-Forwarded-For of ${trustedProxies.join(', ')} is trusted`)]
  const why = 'a public URL has https, so a proxy is in front, but server.trustedProxies is empty'
  return [found('warn', CHECK, `${why}: Sluice takes all clients for the proxy. List its addresses`)]
}

/**
 * What became of the address that the request claimed, as any client may.
 * @param isExpected there is a proxy in any case
 */
function judgeReport({ from, isTrustedProxy, forwardedFor, client }: HealthReport, isExpected: boolean): Finding[] {
  const isUntouched = forwardedFor === CLAIMED_ADDRESS
  if (forwardedFor !== null && !isUntouched) return [judgeForwarding(from, isTrustedProxy, client)]
  if (isUntouched && isTrustedProxy) {
    const effect = `${from} passes on what clients claim in X-Forwarded-For, so each can choose its address`
    return [found('FAIL', CHECK, `${effect}: let it set the header, or append the address of its client`)]
  }
  // Nothing was added on the way, so there is no proxy.
  if (isUntouched && !isExpected) return []
  const remedy = isTrustedProxy
    ? 'let it send the header'
    : 'let it send the header, and list it in server.trustedProxies'
  return [found('FAIL', CHECK, `${from} sends no X-Forwarded-For: Sluice takes all clients for the proxy; ${remedy}`)]
}

function judgeForwarding(from: string, isTrustedProxy: boolean, client: string): Finding {
  if (!isTrustedProxy) {
    const effect = `${from} sends X-Forwarded-For, but server.trustedProxies does not list it`
    return found('FAIL', CHECK, `${effect}: Sluice takes all clients for the proxy. List its address`)
  }
  // A proxy on this machine takes the doctor for another proxy, and what that one claims is believed.
  const who = client === CLAIMED_ADDRESS ? '' : `: this machine is ${client}`
  return found('ok', CHECK, `${from} is trusted, and says who its clients are${who}`)
}
