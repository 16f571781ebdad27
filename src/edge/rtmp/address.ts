import { percentDecoded } from '../../base/percent.ts'
import type { PublishRequest } from '../../media/rtmp/types.ts'
import type { Destination } from '../ingest/broadcast.ts'
import { streamDestination } from '../ingest/destination.ts'

const ADDRESSES = 'publish to rtmp://HOST/v2/pub/STREAM?token=TOKEN'

/**
 * Reads `rtmp://host/v2/pub/{streamName}?token=…&sourceId=…` and `rtmp://host/live/{streamKey}`. Publishers differ in
 * where they split application and stream name, so Sluice joins the two first.
 */
export function readDestination({ app, name, query }: Pick<PublishRequest, 'app' | 'name' | 'query'>): Destination {
  const path = [app, name].filter((part) => part !== '').join('/')
  if (path.startsWith('v2/pub/')) return streamOf(path.slice('v2/pub/'.length), query)
  const key = path.startsWith('live/') ? path.slice('live/'.length) : ''
  if (key !== '') return { kind: 'key', key }
  return { kind: 'none', why: `Nothing can be published there; ${ADDRESSES}` }
}

function streamOf(name: string, query: URLSearchParams): Destination {
  if (name === '') return { kind: 'none', why: `The stream name is missing; ${ADDRESSES}` }
  return streamDestination(percentDecoded(name), query, 'rtmp')
}
