import { readFileSync, statSync } from 'node:fs'
import { Reader, type Response } from 'mmdb-lib'
import type { Logger } from './log.ts'
import { isObject } from './objects.ts'

/** Countries of addresses, from an MMDB file of the operator. */
export interface CountryDatabase {
  /** ISO 3166-1 alpha-2 upper case; null when the database does not know the address. */
  countryOf(address: string): string | null
  /** When its provider made it, epoch milliseconds; null: it does not say. */
  readonly builtMs: number | null
  /** Reads the file again when it has changed. @throws when the file cannot be read; the old data stays in use */
  reload(): void
}

/**
 * Opens the database.
 * @throws when it cannot be read: a country rule must not stop working silently
 */
export function openCountryDatabase(path: string, log: Logger): CountryDatabase {
  let seen = fingerprint(path)
  let reader = read(path)
  return {
    countryOf: (address) => (knowsFamilyOf(address, reader) ? countryIn(reader.get(address)) : null),
    get builtMs() {
      return builtMsIn(reader)
    },
    reload() {
      try {
        const now = fingerprint(path)
        if (now === seen) return
        reader = read(path)
        seen = now
        log.info({ path }, 'the country database was reloaded')
      } catch (error) {
        throw new Error(`${path} cannot be read; the old data stays in use`, { cause: error })
      }
    },
  }
}

/** When the provider of a database made it, epoch milliseconds; null: it does not say. @throws when it cannot be read */
export const builtMsOf = (path: string): number | null => builtMsIn(read(path))

const builtMsIn = ({ metadata }: Reader<Response>): number | null => metadata.buildEpoch.getTime() || null

function fingerprint(path: string): string {
  const { mtimeMs, size, ino } = statSync(path)
  return `${mtimeMs} ${size} ${ino}`
}

/** The library takes an IPv6 address in a file with IPv4 alone for the IPv4 address that its first four bytes make. */
const knowsFamilyOf = (address: string, { metadata }: Reader<Response>): boolean =>
  metadata.ipVersion === 6 || !address.includes(':')

const read = (path: string): Reader<Response> => new Reader<Response>(readFileSync(path))

/** The layouts that databases use: `country.iso_code`, `country_code`, and a bare `country`. */
function countryIn(found: unknown): string | null {
  if (!isObject(found)) return null
  const { country, country_code: flat } = found
  const nested = isObject(country) ? country['iso_code'] : country
  const code = nested ?? flat
  return typeof code === 'string' && /^[A-Za-z]{2}$/.test(code) ? code.toUpperCase() : null
}
