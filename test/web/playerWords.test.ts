import { expect, it } from 'vitest'
import { WORDS } from '../../web/player/words.ts'
import { german } from '../../web/player/wordsDe.ts'

it('writes figures with the decimal mark of their language', () => {
  expect([WORDS.behind(WORDS.number(1.24, 1)), german.words.behind(german.words.number(1.24, 1))]).toEqual([
    '1.2 s behind',
    '1,2 s zurück',
  ])
})
