import { expect, test } from 'vitest'
import { Problems } from '../../../src/core/validation/problems.ts'
import { checkLabel } from '../../../src/core/validation/text.ts'

test.each([
  [undefined, null],
  ['Stage', null],
  ['a\u0007', 'must not contain control characters'],
  ['\ud83c', 'must be well-formed Unicode (it has half of a surrogate pair)'],
  [' \u00a0\u200b', 'must have a character that can be seen'],
])('the label %j is refused with %j', (label, problem) => {
  const problems = new Problems()
  checkLabel('label', label, problems)
  expect(problems.settle(null)).toMatchObject(problem === null ? { ok: true } : { error: { label: [problem] } })
})
