import type { Registry } from 'prom-client'
import type { Context } from '../../../commands/context.ts'
import { FULL_REASONS } from '../../../core/nodes/load.ts'
import { counter, gauge, type LabelledValue } from './samples.ts'

/** How busy this node is, read at each scrape. */
export function registerLoadMetrics(registry: Registry, ctx: Context): void {
  registerMediaProcesses(registry, ctx.mediaProcesses)
  registerNodeLoad(registry, ctx)
}

function registerMediaProcesses(registry: Registry, processes: Context['mediaProcesses']): void {
  const { ends, waits, loads } = processes
  const waited = 'The longest that a datagram waited before a WebRTC process read it, in the last second.'
  const byProcess = (values: ReadonlyMap<number, number>, divisor = 1): LabelledValue[] =>
    [...values].map(([process, value]): LabelledValue => [[String(process)], value / divisor])
  registry.registerMetric(gauge('sluice_media_wait_seconds', waited, ['process'], () => byProcess(waits, 1000)))
  const busy = 'Share of the last second in which a WebRTC process had work.'
  registry.registerMetric(gauge('sluice_media_load_ratio', busy, ['process'], () => byProcess(loads)))
  const late = 'Media packets that viewers did not get, because they waited for more than 300 ms before they were read.'
  registry.registerMetric(counter('sluice_media_late_packets_total', late, [], () => [[[], processes.latePackets]]))
  const help = 'WebRTC processes that ended by themselves (died), or sent nothing any more and were killed (hung).'
  registry.registerMetric(
    counter('sluice_media_processes_ended_total', help, ['cause'], () =>
      ['died', 'hung'].map((cause): LabelledValue => [[cause], ends.get(cause)]),
    ),
  )
}

/** Each reason has a value, so that an alert sees it go. */
function registerNodeLoad(registry: Registry, { nodeLoad }: Context): void {
  const full =
    '1: this node takes no new viewers, because all their slots are taken (sessions), all its media processes are busy ' +
    '(media), or it sends server.maxEgressMegabits (egress).'
  registry.registerMetric(
    gauge('sluice_node_full', full, ['reason'], () => {
      const reading = nodeLoad.reading()
      return FULL_REASONS.map((reason): LabelledValue => [[reason], reading.full.includes(reason) ? 1 : 0])
    }),
  )
  const egress = 'Media that this node sends, in bits per second over the last five seconds.'
  registry.registerMetric(
    gauge('sluice_egress_bits_per_second', egress, [], () => [[[], nodeLoad.reading().egressBitrate ?? 0]]),
  )
}
