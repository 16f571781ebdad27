import { Gauge, Histogram, type Registry } from 'prom-client'
import { inTime } from '../../../base/clock.ts'
import type { Context } from '../../../commands/context.ts'
import { SESSION_END_REASONS } from '../../../core/sessions/endReason.ts'
import { FINDING_CODES } from '../../../core/streams/findings.ts'
import { registerLoadMetrics } from './loadMetrics.ts'
import { counter, gauge, type LabelledValue, tallied } from './samples.ts'
import { registerStreamMetrics } from './streamMetrics.ts'

/** Open sessions, bytes, and delivery results, read at each scrape. */
export function registerSessionMetrics(registry: Registry, ctx: Context): void {
  const { sessions, sampled, recorder } = ctx
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
        this.set(sessions.feeds.all().length)
      },
    }),
  )
  registry.registerMetric(linksGauge(ctx))
  registry.registerMetric(findingsGauge(ctx))
  const { counts } = sessions
  registry.registerMetric(
    counter('sluice_media_bytes_total', 'Bytes of media, in from publishers and out to viewers.', ['direction'], () => [
      [['in'], counts.bytesIn],
      [['out'], counts.bytesOut],
    ]),
  )
  registerCacheMetrics(registry, counts)
  registerLoadMetrics(registry, ctx)
  registerStreamMetrics(registry, ctx)
  registry.registerMetric(
    counter('sluice_admissions_total', 'Sessions that were let in.', ['action', 'protocol'], () =>
      tallied(counts.admitted),
    ),
  )
  registry.registerMetric(
    counter('sluice_refusals_total', 'Sessions that were refused.', ['code'], () => tallied(counts.refused)),
  )
  registry.registerMetric(
    counter('sluice_sessions_ended_total', 'Sessions that have ended.', ['reason'], () =>
      SESSION_END_REASONS.map((reason): LabelledValue => [[reason], counts.ended.get(reason)]),
    ),
  )
  registerBooks(registry, ctx)
  registry.registerMetric(
    counter('sluice_access_log_folded_total', 'Refusals that were counted in a row of the access log.', [], () => [
      [[], recorder.folded],
    ]),
  )
  registry.registerMetric(
    counter('sluice_access_log_dropped_total', 'Decisions that are not in the access log.', ['reason'], () =>
      tallied(recorder.dropped),
    ),
  )
  registry.registerMetric(
    counter('sluice_log_lines_left_out_total', 'Lines that strangers cause and that were not logged.', ['of'], () =>
      Object.entries(sampled).map(([of, { leftOut }]): LabelledValue => [[of], leftOut]),
    ),
  )
  registerDeliveries(registry, ctx)
}

function registerDeliveries(registry: Registry, ctx: Context): void {
  registry.registerMetric(
    counter('sluice_webhook_deliveries_total', 'Attempts to deliver events that have ended.', ['outcome'], () =>
      tallied(ctx.deliveries),
    ),
  )
  registry.registerMetric(deliveryQueue(ctx))
}

/** A longer queue counts as this. */
const QUEUE_MAX = 10_000
/** A scrape waits no longer for the database; then it has no value. */
const QUEUE_WAIT_MS = 1000

const deliveryQueue = ({ store, clock }: Context): Gauge<'state'> =>
  new Gauge({
    name: 'sluice_webhook_deliveries_queued',
    help:
      'Deliveries of all nodes that have not begun: the next ones (pending), and those between two attempts (waiting). ' +
      `At most ${QUEUE_MAX} each.`,
    labelNames: ['state'],
    registers: [],
    async collect() {
      this.reset()
      const read = store.read.deliveries.queue(QUEUE_MAX).catch(() => null)
      const queue = await inTime(clock, QUEUE_WAIT_MS, read)
      if (queue === null) return
      this.set({ state: 'pending' }, queue.pending)
      this.set({ state: 'waiting' }, queue.waiting)
    },
  })

/** Each code has a value, so that an alert sees it go. */
const findingsGauge = ({ sessions, streamMeter }: Context): Gauge<'code'> =>
  new Gauge({
    name: 'sluice_feed_findings',
    help: 'Feeds at this process that something is wrong with now.',
    labelNames: ['code'],
    registers: [],
    collect() {
      for (const code of FINDING_CODES) this.set({ code }, 0)
      for (const { feedId } of sessions.feeds.all())
        for (const { code } of streamMeter.reading(feedId)?.findings ?? []) this.inc({ code })
    },
  })

/** Seconds in which an edge cuts a session; it has five at most. */
const CUT_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** What a node ends and writes of its sessions. */
function registerBooks(registry: Registry, { sessions, clock }: Context): void {
  const { counts, leaving } = sessions
  const cut = new Histogram({
    name: 'sluice_session_cut_seconds',
    help: 'Time until the media of a session that this node ended had stopped.',
    buckets: CUT_BUCKETS,
    registers: [],
  })
  counts.onCut = (ms) => cut.observe(ms / 1000)
  registry.registerMetric(cut)
  const lastCut = new Histogram({
    name: 'sluice_change_cut_seconds',
    help: 'Time from a change of tokens or a request to end sessions, at any node, until the media of the last session here had stopped.',
    buckets: CUT_BUCKETS,
    registers: [],
  })
  counts.onLastCut = (ms) => lastCut.observe(ms / 1000)
  registry.registerMetric(lastCut)
  const age = 'Time since the lease of this node was last renewed. Other nodes give it up after sessions.leaseSeconds.'
  registry.registerMetric(
    gauge('sluice_node_lease_age_seconds', age, [], () => {
      const { leaseRenewedAtMs: atMs } = sessions
      return atMs === null ? [] : [[[], (clock.monotonic() - atMs) / 1000]]
    }),
  )
  const waiting = 'Sessions that have ended and whose end is not in the database yet.'
  registry.registerMetric(gauge('sluice_session_ends_waiting', waiting, [], () => [[[], leaving.size]]))
  const rows = 'Rows with the bytes of sessions that were written to the database.'
  registry.registerMetric(counter('sluice_written_rows_total', rows, [], () => [[[], counts.writtenRows]]))
  const took = 'How long it took to write the latest round of them.'
  registry.registerMetric(gauge('sluice_writing_seconds', took, [], () => [[[], counts.writingMs / 1000]]))
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
      tallied(counts.cacheTickets),
    ),
  )
}

const linksGauge = ({ lentRooms, sessions }: Context): Gauge =>
  gauge('sluice_links', 'Streams that this node has from other nodes, or lends to them.', ['direction'], () => {
    const { borrowed = 0 } = lentRooms.links?.counts ?? {}
    const lent = lentRooms.streams(sessions.node)
    const relayed = lent.filter(({ direction }) => direction === 'relayed').length
    return [
      [['in'], borrowed],
      [['out'], lent.length - relayed],
      [['relayed'], relayed],
    ]
  })
