import { Type } from 'typebox'
import type { Result } from '../../base/result.ts'
import { checkStreamName } from '../access/streamName.ts'
import { readShape } from '../validation/bodyReader.ts'
import { Problems } from '../validation/problems.ts'
import type { FieldErrors } from '../errors.ts'
import { TOKEN_LIMITS as LIMITS } from './types.ts'

/** The most names that one request may try a pattern on. */
export const TESTED_NAMES_MAX = 200

const name = () => Type.String({ minLength: 1, maxLength: LIMITS.streamNameMax })

export const TestPattern = Type.Object(
  {
    pattern: Type.String({ maxLength: 1024, description: 'As `streamName` of an entry with `isRegex: true`.' }),
    streamNames: Type.Optional(
      Type.Array(name(), {
        minItems: 1,
        maxItems: TESTED_NAMES_MAX,
        description: 'Names to try it on. Default: streams of the account that were published recently.',
      }),
    ),
  },
  {
    $id: 'TestPattern',
    additionalProperties: false,
    description: 'A pattern to try.',
    examples: [{ pattern: 'camera-[0-9]+', streamNames: ['camera-7', 'studio-1'] }],
  },
)

export const TestedPattern = Type.Object({
  isValid: Type.Boolean({ description: 'Is it RE2, and within the limits of a pattern?' }),
  error: Type.Optional(Type.String({ description: 'What is wrong with it, and where.' })),
  matches: Type.Array(Type.String(), { description: 'The names that it matches as a whole.' }),
  misses: Type.Array(Type.String()),
  source: Type.Enum(['given', 'recent'], { description: 'Where the names come from.' }),
  isComplete: Type.Boolean({ description: `false: there are more recent names than ${TESTED_NAMES_MAX}.` }),
})

/** A pattern to try on names; null: on those that were published recently. */
export interface PatternTest {
  readonly pattern: string
  readonly streamNames: readonly string[] | null
}

/** Parses the body of a request to try a pattern. A pattern that is not RE2 is an answer, not an error. */
export function readPatternTest(body: unknown): Result<PatternTest, FieldErrors> {
  const problems = new Problems()
  const reader = readShape(TestPattern, body, problems)
  const given = reader.value('streamNames')
  for (const { at, item } of reader.items('streamNames')) {
    const wrong = checkStreamName(item)
    if (wrong !== null) problems.add(at, wrong)
  }
  return problems.settle({ pattern: reader.value('pattern') ?? '', streamNames: given ? [...new Set(given)] : null })
}
