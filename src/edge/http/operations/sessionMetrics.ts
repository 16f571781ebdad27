import { Counter, Gauge, type Registry } from 'prom-client'
import type { Tally } from '../../../base/tally.ts'
import type { Context } from '../../../commands/context.ts'
import { SESSION_END_REASONS } from '../../../core/sessions/endReason.ts'
import { FINDING_CODES } from '../../../core/streams/findings.ts'

/** Open sessions, bytes, and delivery results, read at each scrape. */
export function registerSessionMetrics(registry: Registry, ctx: Context): void {
  const { sessions, deliveries, sampled, recorder, mediaProcesses } = ctx
  registry.registerMetric(
    new Gauge({
      name: 'sluice_sessions',
      help: 'Publishers and viewers at this process now.',
      labelNames: ['action', 'protocol'],
      registers: [],
      collect() {
        this.reset()
        for (const { session } of sessions.all()) this.inc({ action: session.action, protocol: session.protocol })
      },
    }),
  )
  registry.registerMetric(
    new Gauge({
      name: 'sluice_feeds',
      help: 'Feeds on the air at this process now.',
      registers: [],
      collect() {
        this.set(sessions.feeds().length)
      },
    }),
  )
  registry.registerMetric(findingsGauge(ctx))
  const { counts } = sessions
  registry.registerMetric(
    counter('sluice_media_bytes_total', 'Bytes of media, in from publishers and out to viewers.', ['direction'], () => [
      [['in'], counts.bytesIn],
      [['out'], counts.bytesOut],
    ]),
  )
  registerCacheMetrics(registry, counts)
  registerMediaProcesses(registry, mediaProcesses)
  registry.registerMetric(
    counter('sluice_admissions_total', 'Sessions that were let in.', ['action', 'protocol'], () =>
      words(counts.admitted),
    ),
  )
  registry.registerMetric(
    counter('sluice_refusals_total', 'Sessions that were refused.', ['code'], () => words(counts.refused)),
  )
  registry.registerMetric(
    counter('sluice_sessions_ended_total', 'Sessions that have ended.', ['reason'], () =>
      SESSION_END_REASONS.map((reason): Sample => [[reason], counts.ended.get(reason)]),
    ),
  )
  registry.registerMetric(
    counter('sluice_access_log_folded_total', 'Refusals that were counted in a row of the access log.', [], () => [
      [[], recorder.folded],
    ]),
  )
  registry.registerMetric(
    counter('sluice_access_log_dropped_total', 'Decisions that are not in the access log.', ['reason'], () =>
      words(recorder.dropped),
    ),
  )
  registry.registerMetric(
    counter('sluice_log_lines_left_out_total', 'Lines that strangers cause and that were not logged.', ['of'], () =>
      Object.entries(sampled).map(([of, { leftOut }]): Sample => [[of], leftOut]),
    ),
  )
  registry.registerMetric(
    counter('sluice_webhook_deliveries_total', 'Attempts to deliver events that have ended.', ['outcome'], () =>
      words(deliveries),
    ),
  )
}

/** Each code has a value, so that an alert sees it go. */
const findingsGauge = ({ sessions, streamMeter }: Context): Gauge<'code'> =>
  new Gauge({
    name: 'sluice_feed_findings',
    help: 'Feeds at this process that something is wrong with now.',
    labelNames: ['code'],
    registers: [],
    collect() {
      for (const code of FINDING_CODES) this.set({ code }, 0)
      for (const { feedId } of sessions.feeds())
        for (const { code } of streamMeter.reading(feedId)?.findings ?? []) this.inc({ code })
    },
  })

const words = (tally: Tally) => [...tally].map(([kind, count]): Sample => [kind.split(' '), count])

function registerMediaProcesses(registry: Registry, processes: Context['mediaProcesses']): void {
  const { ends, waits, loads } = processes
  const waited = 'The longest that a datagram waited before a WebRTC process read it, in the last second.'
  registry.registerMetric(
    byProcess('sluice_media_wait_seconds', waited, () => [...waits].map(([at, ms]) => [at, ms / 1000])),
  )
  const busy = 'Share of the last second in which a WebRTC process had work.'
  registry.registerMetric(byProcess('sluice_media_load_ratio', busy, () => loads))
  const late = 'Media packets that viewers did not get, because they waited for more than 300 ms before they were read.'
  registry.registerMetric(counter('sluice_media_late_packets_total', late, [], () => [[[], processes.latePackets]]))
  const help = 'WebRTC processes that ended by themselves (died), or sent nothing any more and were killed (hung).'
  registry.registerMetric(
    counter('sluice_media_processes_ended_total', help, ['cause'], () =>
      ['died', 'hung'].map((cause): Sample => [[cause], ends.get(cause)]),
    ),
  )
}

/** A gauge with one value for each WebRTC process. */
function byProcess(name: string, help: string, read: () => Iterable<readonly [process: number, value: number]>): Gauge {
  return new Gauge({
    name,
    help,
    labelNames: ['process'],
    registers: [],
    collect() {
      this.reset()
      for (const [process, value] of read()) this.set({ process }, value)
    },
  })
}

/** What caches report of their logs. */
function registerCacheMetrics(registry: Registry, counts: Context['sessions']['counts']): void {
  registry.registerMetric(
    counter('sluice_cache_log_bytes_total', 'Bytes that caches sent to viewers, from their logs.', [], () => [
      [[], counts.bytesFromCaches],
    ]),
  )
  registry.registerMetric(
    counter('sluice_cache_log_ignored_total', 'Tickets in logs of caches that count for nothing.', ['reason'], () =>
      words(counts.cacheTickets),
    ),
  )
}

type Sample = readonly [labels: readonly string[], value: number]

/** A counter whose value another object holds. */
export function counter(
  name: string,
  help: string,
  labelNames: readonly string[],
  read: () => readonly Sample[],
): Counter {
  return new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [],
    collect() {
      this.reset()
      for (const [labels, value] of read()) {
        this.inc(Object.fromEntries(labelNames.map((label, at) => [label, labels[at] ?? ''])), value)
      }
    },
  })
}
