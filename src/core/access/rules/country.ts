import type { TokenSnapshot } from '../types.ts'
import { fail, pass, skip, type Question, type Verdict } from './verdict.ts'

const SKIP = skip('country', 'neither the token nor its account has country rules')
const ALLOWED = pass('country', 'the country is allowed')
const NOT_DENIED = pass('country', 'the country is not denied')
const UNKNOWN_NOT_DENIED = pass('country', 'the country is not known, and a list of denied countries lets it through')
const UNKNOWN = fail(
  'country',
  'country_not_allowed',
  'the country is not known, and only listed countries are allowed',
)

/** The rules of the token, or those of its account. An unknown country fails an allow list and passes a deny list. */
export function checkCountry({ request, token }: Question): Verdict {
  const { country } = request
  if (token.allowedCountries.size > 0) {
    if (country === null) return UNKNOWN
    if (!token.allowedCountries.has(country)) return refuse(token, country, 'is not in the list of allowed countries')
  }
  if (token.deniedCountries.size > 0) {
    if (country === null) return UNKNOWN_NOT_DENIED
    return token.deniedCountries.has(country)
      ? refuse(token, country, 'is in the list of denied countries')
      : NOT_DENIED
  }
  return token.allowedCountries.size > 0 ? ALLOWED : SKIP
}

const refuse = ({ countrySource }: TokenSnapshot, country: string, why: string): Verdict =>
  fail('country', 'country_not_allowed', `${country} ${why}${countrySource === 'account' ? ' of the account' : ''}`)
