import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { sourceDialler } from '../../src/app/sources.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { Ffmpeg } from '../../src/media/ffmpeg/ffmpeg.ts'
import type { DialSource } from '../../src/media/pulling.ts'
import type { Dialling } from '../../src/net/dial.ts'
import { systemNames } from '../../src/net/resolve.ts'
import { silentLog } from './log.ts'

/** Dials sources as a server does, but by default at any address. */
export function dialsSources(ffmpeg: Ffmpeg, how: Partial<Dialling> = {}): DialSource {
  const config = loadConfig({ env: {}, flags: {} })
  if (!config.ok) throw new Error('no configuration')
  const dialling: Dialling = {
    clock: systemClock,
    resolve: systemNames,
    allows: () => true,
    timeoutMs: 5000,
    trust: undefined,
    protocols: [],
    ...how,
  }
  const ctx = { clock: systemClock, random: systemRandom, log: silentLog }
  return sourceDialler({ app: { ctx, config: config.value }, ffmpeg, how: () => dialling })
}
