import type { Protocol } from '../../core/access/protocols.ts'
import { readPublishing, sourceIdProblem } from '../../core/sessions/publishing.ts'
import type { Destination } from './broadcast.ts'

/** 32 bytes in base64url (RFC 4648 section 5) without padding. */
const SHORT_TOKEN = /^[\w-]{43}$/

/** As a RID, so that all layers of a source fit into one message of a link between nodes. Empty: the main one may lack a name. */
const LAYER_NAME = /^[\w-]{0,32}$/
const LONG_NAME = 'sourceId with simulcastId must have at most 32 letters, digits, - and _'

/** The token in the query of an address: `token`, or else `t`: the same value, or its bytes in base64url. */
function presentedToken(query: URLSearchParams): string | null {
  const token = query.get('token')
  const short = query.get('t')
  if (token !== null || short === null) return token
  return SHORT_TOKEN.test(short) ? Buffer.from(short, 'base64url').toString('hex') : short
}

/**
 * The stream that the query of an address publishes to.
 *
 * @param others names that the protocol reads itself
 */
export function streamDestination(
  streamName: string,
  query: URLSearchParams,
  protocol: Protocol,
  others: readonly string[] = [],
): Destination {
  const of = { streamName, presented: presentedToken(query) }
  const sourceId = query.get('sourceId') ?? ''
  const problem = sourceIdProblem(sourceId)
  if (problem !== null) return { kind: 'none', why: problem, of }
  const parameters = readPublishing(query, protocol, ['token', 't', 'sourceId', ...others])
  if (!parameters.ok) return { kind: 'none', why: parameters.error, of }
  const { simulcastId, without } = parameters.value
  if (simulcastId === null) return { kind: 'stream', ...of, sourceId: sourceId || null, parameters: parameters.value }
  const layer = { name: sourceId, isMain: without === null }
  if (!layer.isMain && sourceId === '') return { kind: 'none', why: 'simulcastId with videoOnly needs sourceId', of }
  if (!LAYER_NAME.test(sourceId)) return { kind: 'none', why: LONG_NAME, of }
  return { kind: 'stream', ...of, sourceId: simulcastId || null, layer, parameters: parameters.value }
}
