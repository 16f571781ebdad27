import { describe, expect, it } from 'vitest'
import { COUNTRIES, parseCountry } from '../../../src/core/access/country.ts'

describe('parseCountry', () => {
  it('knows the 249 assigned codes and XK', () => expect(COUNTRIES.size).toBe(250))

  it('has a name for each of them', () => {
    const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
    expect([...COUNTRIES].filter((code) => names.of(code) === undefined)).toEqual([])
  })

  it.each(['de', 'De', 'DE'])('reads %s as DE', (text) => expect(parseCountry(text)).toEqual({ ok: true, value: 'DE' }))

  it.each(['', 'D', 'DEU', 'D1', ' DE', 'ＤＥ', 'ß', 'ıs'])('refuses %j as no code', (text) =>
    expect(parseCountry(text)).toMatchObject({ ok: false, error: expect.stringContaining('two-letter') as string }),
  )

  it.each(['XX', 'ZZ', 'EU', 'AP', 'A1'.replace('1', 'A')])('refuses %s as not assigned', (text) =>
    expect(parseCountry(text).ok).toBe(false),
  )

  it('suggests no other country for a code that no country uses', () =>
    expect(parseCountry('XX')).toEqual({ ok: false, error: 'XX is not an assigned ISO 3166-1 country code' }))

  it('suggests GB to users from the United Kingdom', () =>
    expect(parseCountry('UK')).toMatchObject({ error: expect.stringContaining('GB') as string }))
})
