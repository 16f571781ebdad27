import type { BodyReader } from '../validation/bodyReader.ts'
import { INGEST_TYPES, type ChannelSettings } from './types.ts'

/** Parses the region of a resource. With only one region it may be omitted. */
export function readRegion(body: BodyReader<{ region?: string }>, settings: ChannelSettings): string | undefined {
  const { regions } = settings
  const region = body.value('region') ?? (regions.length === 1 ? regions[0] : undefined)
  const path = `${body.at}region`
  if (body.problems.touches(path)) return undefined
  if (region === undefined) body.problems.add(path, `is required: one of ${regions.join(', ')}`)
  else if (!regions.includes(region)) body.problems.add(path, `must be one of ${regions.join(', ')}`)
  return region
}

export const toRegionRecord = (id: string) => ({
  id,
  name: id,
  type: 'onprem',
  supportedIngestTypes: [...INGEST_TYPES],
})
