import { readPublishing, sourceIdProblem } from '../../core/sessions/publishing.ts'
import type { PublishRequest } from '../../media/rtmp/types.ts'
import type { Destination } from '../ingest/broadcast.ts'
import { presentedToken } from '../ingest/token.ts'

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
  const sourceId = query.get('sourceId') ?? ''
  const problem = sourceIdProblem(sourceId)
  if (problem !== null) return { kind: 'none', why: problem }
  const parameters = readPublishing(query, 'rtmp', READ_HERE)
  if (!parameters.ok) return { kind: 'none', why: parameters.error }
  const [presented, streamName] = [presentedToken(query), decoded(name)]
  return { kind: 'stream', streamName, presented, sourceId: sourceId || null, parameters: parameters.value }
}

const READ_HERE = ['token', 't', 'sourceId']
/** Decodes percent-encoding as in a URL. Text that is not valid percent-encoding is taken literally. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
