import { expect, test } from 'vitest'
import { rebased } from '../../../web/dashboard/src/parts/draft.ts'
import { emptyForm, type TokenForm } from '../../../web/dashboard/src/pages/tokens/tokenForm.ts'

const name = (streamName: string) => ({ streamName, isRegex: false })
const pattern = (streamName: string) => ({ streamName, isRegex: true })

test('a list has what either person has added and neither has removed; countries of one rule alone', () => {
  const streams = [name('a'), name('b')]
  const before: TokenForm = { ...emptyForm, streams, countries: ['DE'], countryRule: 'allowed' }
  const typed = { ...before, streams: [name('a'), pattern('c')], countries: ['DE', 'AT'] }
  const fresh = { ...before, streams: [name('a'), name('b'), name('d')], countries: ['DE', 'FR'] }
  const form = rebased(typed, before, fresh)
  expect(form.streams).toEqual([name('a'), name('d'), pattern('c')])
  expect(form.countries).toEqual(['DE', 'FR', 'AT'])
  expect(rebased(typed, before, { ...fresh, countryRule: 'denied' }).countries).toEqual(['DE', 'AT'])
})
