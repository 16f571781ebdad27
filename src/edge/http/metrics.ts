import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client'
import type { Context } from '../../commands/context.ts'
import { registerLiveMetrics } from './liveMetrics.ts'

export interface Metrics {
  contentType: string
  render(): Promise<string>
  /** One answered request. `route` is the pattern, not the path, so that the number of series is bounded. */
  readonly answered: (method: string, route: string, status: number) => void
}

/** Prometheus metrics. Counting is a map look-up; everything else is read when it is scraped. */
export function createMetrics(ctx: Context): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  // Counted in a plain map, because a labelled counter costs as much as the decision it would count.
  const answered = new Map<string, number>()
  registry.registerMetric(
    new Counter({
      name: 'sluice_http_requests_total',
      help: 'Answered HTTP requests.',
      labelNames: ['method', 'route', 'status'],
      registers: [],
      collect() {
        this.reset()
        for (const [key, count] of answered) {
          const [method = '', route = '', status = ''] = key.split(' ')
          this.inc({ method, route, status }, count)
        }
      },
    }),
  )
  registry.registerMetric(
    new Gauge({
      name: 'sluice_store_silent_seconds',
      help: 'Time since the store was last heard of.',
      registers: [],
      collect() {
        this.set(ctx.cache.silentMs() / 1000)
      },
    }),
  )
  registry.registerMetric(
    new Gauge({
      name: 'sluice_access_log_dropped',
      help: 'Decisions that were not recorded because the buffer was full, since the start.',
      registers: [],
      collect() {
        this.set(ctx.recorder.dropped)
      },
    }),
  )
  registerLiveMetrics(registry, ctx)
  return {
    contentType: registry.contentType,
    render: () => registry.metrics(),
    answered: (method, route, status) => {
      const key = `${method} ${route} ${status}`
      answered.set(key, (answered.get(key) ?? 0) + 1)
    },
  }
}
