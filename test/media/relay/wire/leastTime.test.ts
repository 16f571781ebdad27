import { expect, test } from 'vitest'
import { leastTime } from '../../../../src/media/relay/wire/leastTime.ts'

test('a shorter delay counts in full, a longer one for an eighth', () => {
  expect([leastTime(null, 80), leastTime(100, 80), leastTime(80, 160), leastTime(80, 80)]).toEqual([80, 80, 90, 80])
})
