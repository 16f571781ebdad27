import { Gauge, Histogram } from 'prom-client'
import { inTime } from '../../../base/clock.ts'
import { Tally } from '../../../base/tally.ts'
import type { Context } from '../../../commands/context.ts'
import { SESSION_END_REASONS } from '../../../core/sessions/endReason.ts'
import { FINDING_CODES } from '../../../core/streams/findings.ts'
import { registerLoadMetrics } from './loadMetrics.ts'
import { type LabelledValue, type Samples, tallied } from './samples.ts'
import { registerStreamMetrics } from './streamMetrics.ts'

/** Open sessions, bytes, and delivery results, read at each scrape. */
export function registerSessionMetrics(samples: Samples, ctx: Context): void {
  const { sessions, sampled, recorder } = ctx
  const open = 'Publishers and viewers at this process now.'
  samples.gauge('sluice_sessions', open, ['action', 'protocol'], () => {
    const tally = new Tally()
    for (const { session } of sessions.all()) tally.add(`${session.action} ${session.protocol}`)
    return tallied(tally)
  })
  samples.gauge('sluice_feeds', 'Feeds on the air at this process now.', [], () => sessions.feeds.all().length)
  registerLinks(samples, ctx)
  registerFindings(samples, ctx)
  const { counts } = sessions
  samples.counter(
    'sluice_media_bytes_total',
    'Bytes of media, in from publishers and out to viewers.',
    ['direction'],
    () => [
      [['in'], counts.bytesIn],
      [['out'], counts.bytesOut],
    ],
  )
  registerCacheMetrics(samples, counts)
  registerLoadMetrics(samples, ctx)
  registerStreamMetrics(samples, ctx)
  samples.counter('sluice_admissions_total', 'Sessions that were let in.', ['action', 'protocol'], () =>
    tallied(counts.admitted),
  )
  samples.counter('sluice_refusals_total', 'Sessions that were refused.', ['code'], () => tallied(counts.refused))
  samples.counter('sluice_sessions_ended_total', 'Sessions that have ended.', ['reason'], () =>
    SESSION_END_REASONS.map((reason): LabelledValue => [[reason], counts.ended.get(reason)]),
  )
  registerBooks(samples, ctx)
  samples.counter(
    'sluice_access_log_folded_total',
    'Refusals that were counted in a row of the access log.',
    [],
    () => recorder.folded,
  )
  samples.counter('sluice_access_log_dropped_total', 'Decisions that are not in the access log.', ['reason'], () =>
    tallied(recorder.dropped),
  )
  samples.counter(
    'sluice_log_lines_left_out_total',
    'Lines that strangers cause and that were not logged.',
    ['of'],
    () => Object.entries(sampled).map(([of, { leftOut }]): LabelledValue => [[of], leftOut]),
  )
  registerDeliveries(samples, ctx)
}

function registerDeliveries(samples: Samples, ctx: Context): void {
  samples.counter('sluice_webhook_deliveries_total', 'Attempts to deliver events that have ended.', ['outcome'], () =>
    tallied(ctx.deliveries),
  )
  registerDeliveryQueue(samples, ctx)
}

/** A longer queue counts as this. */
const QUEUE_MAX = 10_000
/** A scrape waits no longer for the database; then it has no value. */
const QUEUE_WAIT_MS = 1000

function registerDeliveryQueue({ registry }: Samples, { store, clock }: Context): void {
  registry.registerMetric(
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
    }),
  )
}

/** Each code has a value, so that an alert sees it go. */
function registerFindings(samples: Samples, { sessions, streamMeter }: Context): void {
  samples.gauge('sluice_feed_findings', 'Feeds at this process that something is wrong with now.', ['code'], () => {
    const found = sessions.feeds.all().flatMap(({ feedId }) => streamMeter.reading(feedId)?.findings ?? [])
    return FINDING_CODES.map((code) => [[code], found.filter((finding) => finding.code === code).length])
  })
}

/** Seconds in which an edge cuts a session; it has five at most. */
const CUT_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** What a node ends and writes of its sessions. */
function registerBooks(samples: Samples, { sessions, clock }: Context): void {
  const { counts, leaving } = sessions
  const cut = new Histogram({
    name: 'sluice_session_cut_seconds',
    help: 'Time until the media of a session that this node ended had stopped.',
    buckets: CUT_BUCKETS,
    registers: [samples.registry],
  })
  counts.onCut = (ms) => cut.observe(ms / 1000)
  const lastCut = new Histogram({
    name: 'sluice_change_cut_seconds',
    help: 'Time from a change of tokens or a request to end sessions, at any node, until the media of the last session here had stopped.',
    buckets: CUT_BUCKETS,
    registers: [samples.registry],
  })
  counts.onLastCut = (ms) => lastCut.observe(ms / 1000)
  const age = 'Time since the lease of this node was last renewed. Other nodes give it up after sessions.leaseSeconds.'
  samples.gauge('sluice_node_lease_age_seconds', age, [], () => {
    const { leaseRenewedAtMs: atMs } = sessions
    return atMs === null ? [] : [[[], (clock.monotonic() - atMs) / 1000]]
  })
  const waiting = 'Sessions that have ended and whose end is not in the database yet.'
  samples.gauge('sluice_session_ends_waiting', waiting, [], () => leaving.size)
  const rows = 'Rows with the bytes of sessions that were written to the database.'
  samples.counter('sluice_written_rows_total', rows, [], () => counts.writtenRows)
  const took = 'How long it took to write the latest round of them.'
  samples.gauge('sluice_writing_seconds', took, [], () => counts.writingMs / 1000)
}

/** What caches report of their logs. */
function registerCacheMetrics(samples: Samples, counts: Context['sessions']['counts']): void {
  samples.counter(
    'sluice_cache_log_bytes_total',
    'Bytes that caches sent to viewers, from their logs.',
    [],
    () => counts.bytesFromCaches,
  )
  samples.counter(
    'sluice_cache_log_ignored_total',
    'Tickets in logs of caches that count for nothing.',
    ['reason'],
    () => tallied(counts.cacheTickets),
  )
}

function registerLinks(samples: Samples, { lentRooms, sessions }: Context): void {
  const help = 'Streams that this node has from other nodes, or lends to them.'
  samples.gauge('sluice_links', help, ['direction'], () => {
    const { borrowed = 0 } = lentRooms.links?.counts ?? {}
    const lent = lentRooms.streams(sessions.node)
    const relayed = lent.filter(({ direction }) => direction === 'relayed').length
    return [
      [['in'], borrowed],
      [['out'], lent.length - relayed],
      [['relayed'], relayed],
    ]
  })
}
