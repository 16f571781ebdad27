import type { Context } from '../../../commands/context.ts'
import { FULL_REASONS } from '../../../core/nodes/load.ts'
import type { LabelledValue, Samples } from './samples.ts'

/** How busy this node is, read at each scrape. */
export function registerLoadMetrics(samples: Samples, ctx: Context): void {
  registerMediaProcesses(samples, ctx.mediaProcesses)
  registerNodeLoad(samples, ctx)
}

function registerMediaProcesses(samples: Samples, processes: Context['mediaProcesses']): void {
  const { ends, waits, loads } = processes
  const waited = 'The longest that a datagram waited before a WebRTC process read it, in the last second.'
  const byProcess = (values: ReadonlyMap<number, number>, divisor = 1): LabelledValue[] =>
    [...values].map(([process, value]): LabelledValue => [[String(process)], value / divisor])
  samples.gauge('sluice_media_wait_seconds', waited, ['process'], () => byProcess(waits, 1000))
  const busy = 'Share of the last second in which a WebRTC process had work.'
  samples.gauge('sluice_media_load_ratio', busy, ['process'], () => byProcess(loads))
  const late = 'Media packets that viewers did not get, because they waited for more than 300 ms before they were read.'
  samples.counter('sluice_media_late_packets_total', late, [], () => processes.latePackets)
  const help = 'WebRTC processes that ended by themselves (died), or sent nothing any more and were killed (hung).'
  samples.counter('sluice_media_processes_ended_total', help, ['cause'], () =>
    ['died', 'hung'].map((cause): LabelledValue => [[cause], ends.get(cause)]),
  )
}

/** Each reason has a value, so that an alert sees it go. */
function registerNodeLoad(samples: Samples, { nodeLoad }: Context): void {
  const full =
    '1: this node takes no new viewers, because all their slots are taken (sessions), all its media processes are busy ' +
    '(media), or it sends server.maxEgressMegabits (egress).'
  samples.gauge('sluice_node_full', full, ['reason'], () => {
    const reading = nodeLoad.reading()
    return FULL_REASONS.map((reason): LabelledValue => [[reason], reading.full.includes(reason) ? 1 : 0])
  })
  const egress = 'Media that this node sends, in bits per second over the last five seconds.'
  samples.gauge('sluice_egress_bits_per_second', egress, [], () => nodeLoad.reading().egressBitrate ?? 0)
}
