import { Counter, Gauge, type Registry } from 'prom-client'
import type { ChannelGauges } from '../../../services/channelGauges.ts'

type LabelledValue = readonly [labels: Readonly<Record<string, string>>, value: number]

/**
 * State of the channels of this node, read at each scrape. Labels are states, and ids of engines with a running
 * process: at most `ffmpeg.maxProcesses` of them.
 */
export function registerChannelMetrics(registry: Registry, read: () => ChannelGauges): void {
  const gauge = (name: string, help: string, samples: (now: ChannelGauges) => readonly LabelledValue[]): void =>
    registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames: ['status', 'engine'],
        registers: [],
        collect() {
          this.reset()
          for (const [labels, value] of samples(read())) this.set(labels, value)
        },
      }),
    )
  const single = (name: string, help: string, value: (now: ChannelGauges) => number): void =>
    gauge(name, help, (now) => [[{}, value(now)]])
  gauge('sluice_engines', 'Engines at this process, by status.', ({ census }) => byStatus(census.engines))
  gauge('sluice_channels', 'Channels at this process, by status.', ({ census }) => byStatus(census.channels))
  registerPaces(gauge, single)
  single('sluice_ingests', 'Sources of channels that are connected to this process.', ({ ingests }) => ingests)
  single('sluice_ffmpeg_processes', 'ffmpeg processes that run.', ({ ffmpeg }) => ffmpeg.running)
  single(
    'sluice_ffmpeg_processes_max',
    'ffmpeg processes that may run (ffmpeg.maxProcesses).',
    ({ ffmpeg }) => ffmpeg.most,
  )
  single('sluice_distribution_viewers', 'Viewers of distributions at this process.', ({ viewers }) => viewers)
  registry.registerMetric(
    new Counter({
      name: 'sluice_engine_dropped_frames_total',
      help: 'Frames of sources that were left out because engines could not keep up.',
      registers: [],
      collect() {
        this.reset()
        this.inc(read().droppedFrames)
      },
    }),
  )
}

type AddGauge = (name: string, help: string, samples: (now: ChannelGauges) => readonly LabelledValue[]) => void
type AddSingle = (name: string, help: string, value: (now: ChannelGauges) => number) => void

function registerPaces(gauge: AddGauge, single: AddSingle): void {
  single(
    'sluice_engines_overloaded',
    'Engines that cannot keep up with their source.',
    ({ paces }) => paces.filter(([, { isOverloaded }]) => isOverloaded).length,
  )
  single(
    'sluice_engines_reduced',
    'Engines that leave out renditions so that the rest keeps up.',
    ({ paces }) => paces.filter(([, { leftOut }]) => leftOut.length > 0).length,
  )
  gauge('sluice_engine_speed', 'Seconds of media that an engine encodes in a second; 1 is real time.', ({ paces }) =>
    paces.flatMap(([engine, { speed }]) => (speed === null ? [] : [[{ engine }, speed] as const])),
  )
  gauge('sluice_engine_lag_seconds', 'How far an engine is behind its source.', ({ paces }) =>
    paces.flatMap(([engine, { lagMs }]) => (lagMs === null ? [] : [[{ engine }, lagMs / 1000] as const])),
  )
  gauge('sluice_engine_cores', 'Processors that an engine keeps busy.', ({ paces }) =>
    paces.flatMap(([engine, { cores }]) => (cores === null ? [] : [[{ engine }, cores] as const])),
  )
}

const byStatus = (counts: ReadonlyMap<string, number>): LabelledValue[] =>
  [...counts].map(([status, count]) => [{ status }, count])
