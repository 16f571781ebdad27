import { isUtf8 } from 'node:buffer'
import type { FastifyRequest } from 'fastify'
import { err, ok, type Result } from '../../../base/result.ts'
import { isViewProtocol, type Protocol } from '../../../core/access/protocols.ts'
import {
  NO_PARAMETERS,
  type PublishingParameters,
  readPublishing,
  sourceIdProblem,
} from '../../../core/sessions/publishing.ts'
import type { AccessAttempt } from '../../../commands/access/authorize.ts'
import { RTP_VIDEO_NAMES } from '../../../media/codecs/codecs.ts'
import { HANDOVER_PARAMETER } from '../media/handover.ts'
import type { PeerOf } from '../peer.ts'
import { SDP, type HttpRefusal } from '../media/refusal.ts'

/** A browser's offer has about 6 KB; with simulcast and every codec about 12. */
export const MAX_OFFER_BYTES = 65_536

/** The offer and the parameters of a publisher or viewer, without its identity. */
export interface SignalingOffer {
  readonly sdp: string
  readonly sourceId: string | null
  /** Lower case; null: none requested. */
  readonly codec: string | null
  readonly parameters: PublishingParameters
}

const READ_HERE = ['auth', 'codec', 'sourceId', HANDOVER_PARAMETER]

/** Reads the offer and the parameters that Sluice defines; it ignores others, which may belong to other servers. */
export function readOffer(request: FastifyRequest, protocol: Protocol): Result<SignalingOffer, HttpRefusal> {
  const { body } = request
  if (!Buffer.isBuffer(body) || !hasType(request, SDP))
    return err({ status: 415, text: `Unsupported Media Type: send the offer as ${SDP}` })
  if (body.length === 0) return err({ status: 400, text: 'Bad request: the offer is empty' })
  if (!isUtf8(body)) return err({ status: 400, text: 'Bad request: the offer is not valid UTF-8' })
  const sourceId = parameter(request, 'sourceId') ?? ''
  const problem = sourceIdProblem(sourceId)
  if (problem !== null) return err({ status: 400, text: `Bad request: ${problem}` })
  const codec = parameter(request, 'codec')?.toLowerCase() ?? ''
  if (codec !== '' && !RTP_VIDEO_NAMES.includes(codec)) {
    return err({ status: 400, text: `Bad request: codec must be one of ${RTP_VIDEO_NAMES.join(', ')}` })
  }
  const parameters = parametersOf(request, protocol)
  if (!parameters.ok) return err({ status: 400, text: `Bad request: ${parameters.error}` })
  return ok({ sdp: body.toString(), sourceId: sourceId || null, codec: codec || null, parameters: parameters.value })
}

/** Those of viewers mean nothing. */
const parametersOf = (request: FastifyRequest, protocol: Protocol): Result<PublishingParameters, string> =>
  isViewProtocol(protocol) ? ok(NO_PARAMETERS) : readPublishing(queryOf(request), protocol, READ_HERE)

/** The query with the first value of each parameter. */
const queryOf = (request: FastifyRequest): [string, string][] =>
  Object.keys(request.query as object).map((name) => [name, parameter(request, name) ?? ''])

/** Whether the body is of this media type, whatever its parameters. */
export const hasType = (request: FastifyRequest, type: string): boolean =>
  request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() === type

/** A query parameter; the first value when it is repeated. */
function parameter(request: FastifyRequest, name: string): string | undefined {
  const value = (request.query as Record<string, unknown>)[name]
  const first: unknown = Array.isArray(value) ? value[0] : value
  return typeof first === 'string' ? first : undefined
}

/** The request as an attempt that the access rules can evaluate. */
export function attemptOf(
  request: FastifyRequest,
  peerOf: PeerOf,
  target: Pick<AccessAttempt, 'action' | 'protocol' | 'accountId' | 'streamName'>,
): AccessAttempt {
  return {
    ...target,
    presented: presentedToken(request),
    address: peerOf(request.socket.remoteAddress, request.headers),
    origin: request.headers.origin ?? null,
  }
}

/**
 * The token of the `Authorization` header, else of `?auth=`; null if there is none. The scheme is case-insensitive (RFC
 * 9110 section 11.1). Any other scheme counts as no token, because some clients always send one, such as `NoAuth`. A
 * token without a scheme is accepted.
 */
function presentedToken(request: FastifyRequest): string | null {
  const header = request.headers.authorization?.trim() ?? ''
  const [, scheme = '', credentials = ''] = /^(\S+)(?: +(.*))?$/.exec(header) ?? []
  if (scheme.toLowerCase() === 'bearer') {
    if (credentials !== '') return credentials.trim()
  } else if (scheme !== '' && credentials === '' && scheme.toLowerCase() !== 'noauth') {
    return scheme
  }
  return parameter(request, 'auth')?.replace(/^bearer +/i, '') || null
}
