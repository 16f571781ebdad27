import { Type } from 'typebox'
import { err, ok, type Result } from '../../base/result.ts'
import { parseInstant } from '../access/logQuery.ts'
import { type ParameterReader, type QueryPart, readListQuery } from '../pages/listQuery.ts'
import { wordOf } from '../pages/parameters.ts'
import { readShape } from '../validation/bodyReader.ts'
import { Problems } from '../validation/problems.ts'
import type { FieldErrors } from '../errors.ts'
import type { HookType } from './events.ts'
import { HOOK_TYPES } from './kinds.ts'

/** Which deliveries a list shows, and which are sent again. */

export const DELIVERY_STATES = ['pending', 'started', 'delivered', 'failed', 'skipped', 'unknown'] as const
/** States of deliveries that may be sent again together. What is `unknown` may have arrived. */
const UNDELIVERED_STATES = ['failed', 'skipped', 'unknown'] as const

/** The most deliveries that one request sends again. */
export const REDELIVERIES_MAX = 1000

export interface DeliveryListFilter {
  state?: (typeof DELIVERY_STATES)[number]
  type?: HookType
  /** Epoch milliseconds. */
  fromMs?: number
}

const word =
  <W extends string>(words: readonly W[], make: (word: W) => DeliveryListFilter): ParameterReader<DeliveryListFilter> =>
  (text) => {
    const found = wordOf(words, text)
    return found === undefined ? err(`must be one of ${words.join(', ')}`) : ok(make(found))
  }

const READERS: Readonly<Record<string, ParameterReader<DeliveryListFilter>>> = {
  state: word(DELIVERY_STATES, (state) => ({ state })),
  type: word(HOOK_TYPES, (type) => ({ type })),
  from: (text) => parseInstant(text, (fromMs) => ({ fromMs })),
}

/** Parses the query of a list of deliveries and reports all errors at once. */
export const readDeliveryQuery = (
  query: Record<string, unknown>,
): Result<DeliveryListFilter & QueryPart, FieldErrors> => readListQuery(query, READERS)

export const RedeliverMany = Type.Object(
  {
    states: Type.Array(Type.Enum([...UNDELIVERED_STATES]), {
      minItems: 1,
      maxItems: UNDELIVERED_STATES.length,
      description: 'What is `unknown` may have arrived: the receiver knows by `webhook-id`.',
    }),
    type: Type.Optional(Type.Enum([...HOOK_TYPES])),
    from: Type.Optional(
      Type.String({ format: 'date-time', maxLength: 40, description: 'Only events from this time on.' }),
    ),
  },
  {
    $id: 'RedeliverMany',
    additionalProperties: false,
    description: 'Which deliveries to send again: those that did not arrive, and were not sent again since.',
    examples: [{ states: ['failed', 'skipped'] }],
  },
)

export interface RedeliverRequest {
  states: readonly (typeof UNDELIVERED_STATES)[number][]
  type?: string
  fromMs?: number
}

/** Parses the body of a request to send many deliveries again. */
export function readRedeliverMany(body: unknown): Result<RedeliverRequest, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(RedeliverMany, body, problems)
  const [states, type, from] = [reader.value('states') ?? [], reader.value('type'), reader.value('from')]
  const instant = from === undefined ? null : parseInstant(from, (fromMs) => ({ fromMs }))
  if (instant?.ok === false) problems.add('from', instant.error)
  return problems.settle({
    states: [...new Set(states)],
    ...(type === undefined ? {} : { type }),
    ...(instant?.ok ? instant.value : {}),
  })
}
