import type { ChannelGauges } from '../../../services/channelGauges.ts'
import type { LabelledValue, Samples } from './samples.ts'

/**
 * State of the channels of this node, read at each scrape. Labels are states, and ids of engines with a running
 * process: at most `ffmpeg.maxProcesses` of them.
 */
export function registerChannelMetrics(samples: Samples, read: () => ChannelGauges): void {
  const single = (name: string, help: string, value: (now: ChannelGauges) => number): void =>
    samples.gauge(name, help, [], () => value(read()))
  const byStatus = (name: string, help: string, of: 'engines' | 'channels'): void =>
    samples.gauge(name, help, ['status'], () =>
      [...read().census[of]].map(([status, n]): LabelledValue => [[status], n]),
    )
  byStatus('sluice_engines', 'Engines at this process, by status.', 'engines')
  byStatus('sluice_channels', 'Channels at this process, by status.', 'channels')
  registerPaces(samples, () => read().paces, single)
  single('sluice_ingests', 'Sources of channels that are connected to this process.', ({ ingests }) => ingests)
  single('sluice_ffmpeg_processes', 'ffmpeg processes that run.', ({ ffmpeg }) => ffmpeg.running)
  single(
    'sluice_ffmpeg_processes_max',
    'ffmpeg processes that may run (ffmpeg.maxProcesses).',
    ({ ffmpeg }) => ffmpeg.most,
  )
  single('sluice_distribution_viewers', 'Viewers of distributions at this process.', ({ viewers }) => viewers)
  const dropped = 'Frames of sources that were left out because engines could not keep up.'
  samples.counter('sluice_engine_dropped_frames_total', dropped, [], () => read().droppedFrames)
}

type Paces = ChannelGauges['paces']
type AddSingle = (name: string, help: string, value: (now: ChannelGauges) => number) => void

function registerPaces(samples: Samples, paces: () => Paces, single: AddSingle): void {
  const each = (name: string, help: string, value: (pace: Paces[number][1]) => number | null): void =>
    samples.gauge(name, help, ['engine'], () =>
      paces().flatMap(([engine, pace]): LabelledValue[] => {
        const now = value(pace)
        return now === null ? [] : [[[engine], now]]
      }),
    )
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
  each(
    'sluice_engine_speed',
    'Seconds of media that an engine encodes in a second; 1 is real time.',
    ({ speed }) => speed,
  )
  each('sluice_engine_lag_seconds', 'How far an engine is behind its source.', ({ lagMs }) => lagMs / 1000)
  each('sluice_engine_cores', 'Processors that an engine keeps busy.', ({ cores }) => cores)
}
