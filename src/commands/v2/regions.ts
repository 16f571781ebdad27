import { err, ok, type Result } from '../../base/result.ts'
import { type LiveFailure, noSuch } from '../../core/live/errors.ts'
import { toRegionRecord } from '../../core/live/region.ts'
import type { Context } from '../context.ts'

type Region = ReturnType<typeof toRegionRecord>

/** The regions of the configuration. */
export const listRegions = ({ liveSettings }: Context): Region[] => liveSettings.regions.map(toRegionRecord)

export function readRegionRecord({ liveSettings }: Context, id: string): Result<Region, LiveFailure> {
  return liveSettings.regions.includes(id) ? ok(toRegionRecord(id)) : err(noSuch('region', id))
}
