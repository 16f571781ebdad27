import { collectDefaultMetrics, Registry } from 'prom-client'
import type { DiskSpace } from '../../../base/diskSpace.ts'
import type { Context } from '../../../commands/context.ts'
import type { ChannelGauges } from '../../../services/channelGauges.ts'
import { registerChannelMetrics } from './channelMetrics.ts'
import type { HttpConnections } from '../connections.ts'
import type { HttpsOptions } from '../https.ts'
import { registerDiskMetrics } from './diskMetrics.ts'
import { type LabelledValue, Samples } from './samples.ts'
import { registerSessionMetrics } from './sessionMetrics.ts'

export interface Metrics {
  contentType: string
  render(): Promise<string>
  /** Counts an answer. `route` is the pattern, not the path, so that the number of series is bounded. */
  readonly answered: (method: string, route: string, status: number) => void
}

export interface MetricsOptions {
  /** Absent: this process runs no channels. */
  readonly channels?: (() => ChannelGauges) | undefined
  /** Absent: no TLS. */
  readonly https?: HttpsOptions | undefined
  /** Of the recordings. */
  readonly diskSpace: () => Promise<DiskSpace | null>
}

/**
 * Prometheus metrics. Counting an answer is a map look-up; everything else is read at each scrape.
 */
export function createMetrics(
  ctx: Context,
  connections: HttpConnections,
  { channels, https, diskSpace }: MetricsOptions,
): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  // Gauges that are named like counters, which linters of metrics refuse. The same figures are there by type.
  for (const kind of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${kind}_total`)
  const answered = new AnswerCounts()
  const samples = new Samples(registry)
  samples.counter('sluice_http_requests_total', 'Answered HTTP requests.', ['method', 'route', 'status'], () => [
    ...answered.values(),
  ])
  const silent = 'Time since the store was last heard of.'
  samples.gauge('sluice_store_silent_seconds', silent, [], () => ctx.cache.silentMs() / 1000)
  registerConnections(samples, connections)
  const reloads = 'Reloads of the configuration: applied ones, and those that were refused because something was wrong.'
  samples.counter('sluice_config_reloads_total', reloads, ['outcome'], () => [
    [['applied'], ctx.reloads.get('applied')],
    [['refused'], ctx.reloads.get('refused')],
  ])
  if (https) registerTls(samples, ctx, connections, https)
  registerDiskMetrics(samples, ctx, diskSpace)
  registerSessionMetrics(samples, ctx)
  if (channels) registerChannelMetrics(samples, channels)
  return {
    contentType: registry.contentType,
    render: () => registry.metrics(),
    answered: (method, route, status) => answered.count(method, route, status),
  }
}

function registerConnections(samples: Samples, connections: HttpConnections): void {
  samples.gauge('sluice_http_connections', 'Open HTTP connections.', [], () => connections.size)
  const help =
    'HTTP connections that were closed: idle ones for new ones, new ones as too many, for requests in advance (flooded), ' +
    'because clients did not take their answers (stalled; unsent: all answers together), and when a secret or session was over (revoked).'
  samples.counter('sluice_http_connections_closed_total', help, ['reason'], () => [
    [['gave_way'], connections.counts.gaveWay],
    [['refused'], connections.counts.refused],
    [['flooded'], connections.counts.flooded],
    [['stalled'], connections.counts.stalled],
    [['unsent'], connections.counts.unsent],
    [['revoked'], connections.counts.revoked],
  ])
}

function registerTls(
  samples: Samples,
  { clock }: Context,
  { handshakes: { counts } }: HttpConnections,
  { certificate }: HttpsOptions,
): void {
  const expires = 'Time until the served certificate expires; negative after it.'
  samples.gauge('sluice_certificate_expires_seconds', expires, [], () =>
    Math.round((certificate.current.expiresMs - clock.now()) / 1000),
  )
  const lifetime = 'The whole time for which the served certificate is valid.'
  samples.gauge('sluice_certificate_lifetime_seconds', lifetime, [], () => {
    const { beginsMs, expiresMs } = certificate.current
    return Math.round((expiresMs - beginsMs) / 1000)
  })
  const help = 'TLS handshakes of HTTP connections, by how they ended.'
  samples.counter('sluice_tls_handshakes_total', help, ['result'], () => [
    [['done'], counts.done],
    [['failed'], counts.failed],
    [['timed_out'], counts.timedOut],
    [['gave_way'], counts.gaveWay],
  ])
}

/**
 * Nested maps. A labelled counter costs as much as the decision that it counts, and building one key from three parts
 * costs more than three look-ups.
 */
class AnswerCounts {
  readonly #byRoute = new Map<string, Map<string, Map<number, number>>>()

  count(method: string, route: string, status: number): void {
    const counts = this.#byRoute.get(route)?.get(method) ?? this.#add(method, route)
    counts.set(status, (counts.get(status) ?? 0) + 1)
  }

  #add(method: string, route: string): Map<number, number> {
    const byMethod = this.#byRoute.get(route) ?? new Map<string, Map<number, number>>()
    const counts = new Map<number, number>()
    this.#byRoute.set(route, byMethod.set(method, counts))
    return counts
  }

  *values(): Generator<LabelledValue> {
    for (const [route, byMethod] of this.#byRoute)
      for (const [method, counts] of byMethod)
        for (const [status, count] of counts) yield [[method, route, String(status)], count]
  }
}
