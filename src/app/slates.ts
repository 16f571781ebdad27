import { offlineFfmpeg } from './offline.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { channelsDir } from '../config/paths.ts'
import type { Config } from '../config/schema.ts'
import type { ProbeSlate } from '../core/channels/slate.ts'
import { createFfmpeg } from '../media/ffmpeg/ffmpeg.ts'
import { slateProbe } from '../media/slate/probe.ts'

/** More uploads at the same time are refused, so that none takes the processors from live streams. */
const CHECKS_MAX = 2

/** Checks slates of this process. Files of a check that a crash interrupts are removed when the next server starts. */
export function slateProbeOf(config: Config, clock: Clock, log: Logger): ProbeSlate {
  let probe: ProbeSlate | null = null
  return async (bytes, limits) => {
    const offline = await offlineFfmpeg(log)
    probe ??= slateProbe({
      ffmpeg: createFfmpeg({ log, clock, binary: config.ffmpeg.path, maxChildren: () => CHECKS_MAX, offline }),
      clock,
      folder: channelsDir(config),
    })
    return probe(bytes, limits)
  }
}
