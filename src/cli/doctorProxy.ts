import { httpPort } from '../base/httpPort.ts'
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
  isLoopback(from) && httpPort(new URL(publicUrl)) === port

/** A URL with https needs a proxy if Sluice does not speak TLS. */
const needsProxy = (config: Config, url: string): boolean => url.startsWith('https:') && !speaksTls(config)

function judgeConfig(config: Config): Finding[] {
  const { publicUrl, nodeUrl, trustedProxies } = config.server
  if (!needsProxy(config, publicUrl) && !needsProxy(config, nodeUrl)) return []
  if (trustedProxies.length > 0) return [found('ok', CHECK, 'proxy_trusted', { proxies: trustedProxies.join(', ') })]
  return [found('warn', CHECK, 'proxy_not_listed')]
}

/**
 * What became of the address that the request claimed, as any client may.
 * @param isExpected there is a proxy in any case
 */
function judgeReport({ from, isTrustedProxy, forwardedFor, client }: HealthReport, isExpected: boolean): Finding[] {
  const isUntouched = forwardedFor === CLAIMED_ADDRESS
  if (forwardedFor !== null && !isUntouched) return [judgeForwarding(from, isTrustedProxy, client)]
  if (isUntouched && isTrustedProxy) return [found('FAIL', CHECK, 'proxy_passes_claims', { from })]
  // Nothing was added on the way, so there is no proxy.
  if (isUntouched && !isExpected) return []
  return [found('FAIL', CHECK, isTrustedProxy ? 'proxy_silent' : 'proxy_silent_not_listed', { from })]
}

function judgeForwarding(from: string, isTrustedProxy: boolean, client: string): Finding {
  if (!isTrustedProxy) return found('FAIL', CHECK, 'proxy_not_trusted', { from })
  // A proxy on this machine takes the doctor for another proxy, and what that one claims is believed.
  if (client === CLAIMED_ADDRESS) return found('ok', CHECK, 'proxy', { from })
  return found('ok', CHECK, 'proxy_named', { from, client })
}
