import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { Problems } from '../../../src/core/validation/problems.ts'
import { readNoBody } from '../../../src/core/validation/noBody.ts'
import { asksForNothing, isNotBuilt, type NotBuilt, notBuilt } from '../../../src/core/validation/notBuilt.ts'
import { readShape } from '../../../src/core/validation/bodyReader.ts'

const drm = notBuilt('keys are not given out', ['off']) as unknown as NotBuilt & { description: string }

describe('a property that is not built', () => {
  test.each([
    [false],
    [null],
    ['off'],
    [[]],
    [{}],
    [{ enabled: false, level: 5 }],
    [{ isEnabled: false, level: 5 }],
    [{ a: null, b: { c: [] } }],
  ])('may be sent as %j, which asks for nothing', (value) => {
    expect(asksForNothing(drm, value)).toBe(true)
  })

  test.each([[true], [0], [''], ['on'], [[null]], [{ enabled: true }], [{ a: null, b: 1 }], [{ other: false, b: 1 }]])(
    'may not be sent as %j',
    (value) => {
      expect(asksForNothing(drm, value)).toBe(false)
    },
  )

  test('is refused by its own name, wherever it is, and described with what may be sent', () => {
    const schema = Type.Object({ quality: Type.Object({ drm }), drm })
    const problems = new Problems()
    readShape(schema, { quality: { drm: true }, drm: 1 }, problems)
    const refused = ['drm is not built: keys are not given out']
    expect(problems.settle(null)).toEqual({ ok: false, error: { 'quality.drm': refused, drm: refused } })
    expect(drm.description).toBe(
      'Not built: keys are not given out. Leave it out, or send false, null, "off", nothing.',
    )
    expect([isNotBuilt(drm), isNotBuilt(Type.Boolean())]).toEqual([true, false])
  })
})

describe('a request that takes no body', () => {
  test.each([undefined, null, {}])('takes %j', (body) => {
    expect(readNoBody(body)).toEqual({ ok: true, value: null })
  })
  test.each([[{ a: 1 }], [[]], ['text'], [0]])('does not take %j', (body) => {
    expect(readNoBody(body).ok).toBe(false)
  })
})
