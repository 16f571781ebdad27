import { Type } from 'typebox'
import type { Result } from '../../base/result.ts'
import { checkStreamName } from '../access/streamName.ts'
import { orNull } from '../tokens/schemaParts.ts'
import { readShape } from '../validation/bodyReader.ts'
import { Problems } from '../validation/problems.ts'
import type { FieldErrors } from '../errors.ts'

export const RequestThumbnail = Type.Object(
  {
    streamName: Type.Optional(orNull(Type.String({ minLength: 1, maxLength: 128 }), 'All sources of this stream.')),
    tokenId: Type.Optional(
      orNull(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), 'All streams that this token publishes.'),
    ),
  },
  {
    $id: 'RequestThumbnail',
    additionalProperties: false,
    minProperties: 1,
    description: 'Of what to take thumbnails: one of the two, or both.',
    examples: [{ streamName: 'studio-1' }],
  },
)

/** Null: any. One of the two is set. */
export interface ThumbnailRequest {
  readonly streamName: string | null
  readonly tokenId: number | null
}

/** Parses `{streamName, tokenId}`. */
export function readThumbnailRequest(body: unknown): Result<ThumbnailRequest, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(RequestThumbnail, body, problems)
  const request = { streamName: reader.value('streamName') ?? null, tokenId: reader.value('tokenId') ?? null }
  if (request.streamName === null && request.tokenId === null && problems.isEmpty)
    problems.add('streamName', 'is required, unless there is a tokenId')
  const wrong = request.streamName === null ? null : checkStreamName(request.streamName)
  if (wrong !== null) problems.add('streamName', wrong)
  return problems.settle(request)
}
