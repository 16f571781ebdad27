import { Type } from 'typebox'
import type { Result } from '../../base/result.ts'
import { wordOf } from '../pages/parameters.ts'
import { readQuery } from '../tokens/listQuery.ts'
import { orNull } from '../tokens/schemaParts.ts'
import { Problems } from '../validation/problems.ts'
import type { FieldErrors } from '../errors.ts'
import { readShape } from '../validation/bodyReader.ts'
import { checkPlainText } from '../validation/text.ts'
import { TEST_TYPES, type TestType } from './examples.ts'
import { closed } from '../validation/closed.ts'

/** Requests about webhooks other than create and update. */

const ITEMS_DEFAULT = 10
export const WebhookListQuery = Type.Object(
  {
    startingId: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 9_999_999_999, description: 'The first id of the page, inclusive.' }),
    ),
    itemCount: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: ITEMS_DEFAULT })),
    isDescending: Type.Optional(Type.Boolean({ default: false, description: 'Latest first.' })),
  },
  closed,
)

export interface WebhookListRequest {
  startingId: number | undefined
  itemCount: number
  descending: boolean
}

export function readWebhookListQuery(query: Record<string, unknown>): Result<WebhookListRequest, FieldErrors> {
  const problems = new Problems()
  const reader = readQuery(WebhookListQuery, query, problems)
  return problems.settle({
    startingId: reader.value('startingId'),
    itemCount: reader.value('itemCount') ?? ITEMS_DEFAULT,
    descending: reader.value('isDescending') ?? false,
  })
}

const name = (description: string) => Type.Optional(orNull(Type.String({ minLength: 1, maxLength: 128 }), description))

export const WebhookTest = Type.Object(
  {
    streamName: name('The stream that the event is about, for filters.'),
    transcoderName: name('The transcoder that the event is about, for filters.'),
  },
  { $id: 'WebhookTest', ...closed, description: 'What the example is about. May be left out.' },
)

export interface WebhookTestRequest {
  streamName?: string
  transcoderName?: string
}

/** Parses the body of a test. It may be absent. */
export function readWebhookTest(body: unknown): Result<WebhookTestRequest, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(WebhookTest, body ?? {}, problems)
  const [streamName, transcoderName] = [reader.value('streamName'), reader.value('transcoderName')]
  checkPlainText('streamName', streamName, problems)
  checkPlainText('transcoderName', transcoderName, problems)
  return problems.settle({
    ...(streamName === undefined ? {} : { streamName }),
    ...(transcoderName === undefined ? {} : { transcoderName }),
  })
}

/** The test type in a path, in any case. */
export const testTypeOf = (text: string): TestType | undefined => wordOf(TEST_TYPES, text)
