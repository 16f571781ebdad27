import { checkAddress } from './checks.ts'
import type { TokenRecord } from './operations.ts'

/** What a refusal says of the client that was refused. */
export interface Refused {
  readonly code?: string | undefined
  readonly streamName: string
  readonly origin?: string | undefined
  readonly address: string
  readonly country?: string | undefined
}

type Change = Readonly<Record<string, unknown>>

/** A change of a token that would have admitted a client, and the one that takes it back. */
export interface Repair {
  /** Its words are in `words.tokens.refusals.repairs`. */
  readonly kind: 'allow' | 'switchOn' | 'bindOneMore'
  /** What is allowed then: a site, an address, a stream, a country. */
  readonly what: string
  readonly change: Change
  readonly undo: Change
}

type ListField = 'allowedOrigins' | 'allowedIpAddresses' | 'allowedCountries' | 'deniedCountries'

/** Null: no single change of the token would do, or it has been made. */
export function repairOf(token: TokenRecord, refused: Refused): Repair | null {
  const { code, streamName, origin, address, country } = refused
  switch (code ?? '') {
    case 'token_disabled':
      return token.isActive
        ? null
        : { kind: 'switchOn', what: token.label, change: { isActive: true }, undo: { isActive: false } }
    case 'stream_name_not_allowed':
      return streamRepair(token, streamName)
    case 'origin_not_allowed':
      return origin && URL.canParse(origin) ? entryRepair(token, 'allowedOrigins', new URL(origin).host) : null
    case 'address_not_allowed':
      return addressRepair(token, address)
    case 'country_not_allowed':
      return country ? countryRepair(token, country) : null
    default:
      return null
  }
}

function entryRepair(token: TokenRecord, field: ListField, what: string): Repair | null {
  const list = token[field]
  if (what === '' || list.includes(what)) return null
  return { kind: 'allow', what, change: { [field]: [...list, what] }, undo: { [field]: list } }
}

function streamRepair({ streams }: TokenRecord, streamName: string): Repair | null {
  if (streams.some((one) => one.streamName === streamName)) return null
  return {
    kind: 'allow',
    what: streamName,
    change: { addTokenStreams: [{ streamName, isRegex: false }] },
    undo: { removeTokenStreams: [streamName] },
  }
}

/** A token without a list of addresses takes the first ones that use it: it takes one more. */
function addressRepair(token: TokenRecord, address: string): Repair | null {
  if (token.allowedIpAddresses.length > 0)
    return checkAddress(address) === null ? entryRepair(token, 'allowedIpAddresses', address) : null
  const { bindIpsOnUsage = 0 } = token
  if (bindIpsOnUsage === 0) return null
  const change = { bindIpsOnUsage: bindIpsOnUsage + 1 }
  return { kind: 'bindOneMore', what: address, change, undo: { bindIpsOnUsage } }
}

function countryRepair(token: TokenRecord, country: string): Repair | null {
  const { allowedCountries, deniedCountries } = token
  if (allowedCountries.length > 0) return entryRepair(token, 'allowedCountries', country)
  if (!deniedCountries.includes(country)) return null
  const change = { deniedCountries: deniedCountries.filter((one) => one !== country) }
  return { kind: 'allow', what: country, change, undo: { deniedCountries } }
}
