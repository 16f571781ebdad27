import { Type } from 'typebox'
import type { Result } from '../../base/result.ts'
import { readShape } from '../validation/bodyReader.ts'
import { Problems } from '../validation/problems.ts'
import type { FieldErrors } from '../errors.ts'

export const SwitchRecording = Type.Object(
  { record: Type.Boolean({ description: 'true: record from the next keyframe on. false: end the recording.' }) },
  {
    $id: 'SwitchRecording',
    additionalProperties: false,
    description: 'Whether a broadcast is recorded from now on.',
    examples: [{ record: true }],
  },
)

/** Parses `{record}`. */
export function readSwitchRecording(body: unknown): Result<boolean, FieldErrors> {
  const problems = new Problems()
  const record = readShape(SwitchRecording, body, problems).value('record')
  return problems.settle(record ?? false)
}
