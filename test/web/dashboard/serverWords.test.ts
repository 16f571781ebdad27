import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { readShape } from '../../../src/core/validation/bodyReader.ts'
import { Problems } from '../../../src/core/validation/problems.ts'
import { inWords } from '../../../web/dashboard/src/parts/serverWords.ts'

/** What the server says of one field of a body. */
function refusal(schema: Parameters<typeof Type.Object>[0][string], body: object): string {
  const problems = new Problems()
  readShape(Type.Object({ field: schema }), body, problems)
  const settled = problems.settle(null)
  return settled.ok ? '' : (settled.error['field']?.[0] ?? '')
}

test('what the server says about types is said to people', () => {
  const name = Type.String({ minLength: 1, maxLength: 128 })
  const list = Type.Array(name, { minItems: 1, maxItems: 3 })
  const said = [
    refusal(name, { field: '' }),
    refusal(name, {}),
    refusal(Type.Union([name, Type.Null()]), { field: '' }),
    refusal(list, { field: [] }),
    refusal(list, { field: ['a', 'b', 'c', 'd'] }),
    refusal(Type.Integer({ minimum: 1, maximum: 9 }), { field: 10 }),
  ]
  expect(said.map(inWords)).toEqual([
    'Use 1 to 128 characters.',
    'Use 1 to 128 characters.',
    'Use 1 to 128 characters.',
    'Add at least 1.',
    'There are 4, and 3 are possible.',
    'Write a whole number from 1 to 9.',
  ])
  expect(inWords('must begin with https://')).toBe('must begin with https://')
})
