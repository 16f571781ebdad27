import { CLUSTER } from '../clusters.ts'

/** What an account says for its tokens. */
export interface AccountDefaults {
  /** Of publish tokens without one of their own: `auto`, or the region whose nodes take their publishers. */
  readonly defaultCluster: string
  /** ISO 3166-1 alpha-2, of tokens without country rules of their own. At most one of the two lists has entries. */
  readonly allowedCountries: readonly string[]
  readonly deniedCountries: readonly string[]
  /** Of publish tokens without their own: the regions that media goes to beside that of its publisher, or `all`. Null: all. */
  readonly geoCascade: readonly string[] | null
  /** How long recordings are kept after they are complete, days; null: until they are deleted. */
  readonly recordingDays: number | null
  /** Whether the access log gets its admissions, within the bounds of refusals. */
  readonly logAdmissions: boolean
  /** Grows with each change. */
  readonly version: number
}

/** Those of a new account. */
export const NO_DEFAULTS: AccountDefaults = {
  defaultCluster: CLUSTER,
  allowedCountries: [],
  deniedCountries: [],
  geoCascade: null,
  recordingDays: null,
  logAdmissions: false,
  version: 0,
}

type CountryLists = Pick<AccountDefaults, 'allowedCountries' | 'deniedCountries'>

export const namesCountries = ({ allowedCountries, deniedCountries }: CountryLists): boolean =>
  allowedCountries.length + deniedCountries.length > 0

/** The country rules that hold for a token: its own, or those of its account if it has none. */
export function effectiveCountries(
  token: CountryLists,
  account: CountryLists,
): CountryLists & { readonly source: 'token' | 'account' } {
  const hasOwn = namesCountries(token)
  const { allowedCountries, deniedCountries } = hasOwn ? token : account
  return { allowedCountries, deniedCountries, source: hasOwn ? 'token' : 'account' }
}
