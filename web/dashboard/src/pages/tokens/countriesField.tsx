import type { ComponentChildren } from 'preact'
import { ChipsField, Segment } from '../../parts/form.tsx'
import { words } from '../../words/words.ts'
import { checkCountry } from './checks.ts'
import { type CountryRule, errorOf } from './tokenForm.ts'

const text = words.tokens.form

const RULES = [
  ['allowed', text.countriesAllowed],
  ['denied', text.countriesDenied],
] as const satisfies readonly (readonly [CountryRule, string])[]

/** Countries, and whether these are the only ones or the excluded ones. */
export interface Countries {
  readonly countries: readonly string[]
  readonly countryRule: CountryRule
}

interface CountriesFieldProps extends Countries {
  readonly hint: ComponentChildren
  /** What the server says is wrong, by path in the body. */
  readonly errors: Readonly<Record<string, string>>
  readonly onChange: (change: Partial<Countries>) => void
}

export function CountriesField({ countries, countryRule, hint, errors, onChange }: CountriesFieldProps) {
  return (
    <div class="stack gap-s">
      <ChipsField
        label={text.countries}
        isOptional
        placeholder={text.countriesPlaceholder}
        hint={hint}
        check={checkCountry}
        error={errorOf(errors, 'allowedCountries', countries) ?? errorOf(errors, 'deniedCountries', countries)}
        values={countries}
        onValues={(values) => onChange({ countries: values })}
      />
      {countries.length > 0 && (
        <Segment
          label={text.countryRule}
          choices={RULES}
          value={countryRule}
          onChange={(rule) => onChange({ countryRule: rule })}
        />
      )}
    </div>
  )
}
