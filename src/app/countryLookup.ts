import { type CountryDatabase, openCountryDatabase } from '../base/geoip.ts'
import type { Logger } from '../base/log.ts'
import { err, ok, type Result } from '../base/result.ts'
import type { Config } from '../config/schema.ts'
import type { CountryFile } from '../edge/http/about/upkeep.ts'
import { NOTHING_PREPARED, type Prepared } from './prepared.ts'

/** The country database that `geoip.database` names at present. */
export class CountryLookup {
  readonly #log: Logger
  #path = ''
  #database: CountryDatabase | null = null
  /** Why the file cannot be used, for a process that goes on without it; null: nothing is wrong. */
  #problem: string | null = null

  constructor(log: Logger) {
    this.#log = log
  }

  /** Without a database no address has a country. */
  get isThere(): boolean {
    return this.#database !== null || this.#problem !== null
  }

  /** The file in use; null: there is none. */
  get file(): CountryFile | null {
    return this.#database && { path: this.#path, builtMs: this.#database.builtMs }
  }

  /**
   * ISO 3166-1 alpha-2 upper case; null: not known.
   * @throws when the file cannot be used: a decision without it would be another one than that of the server
   */
  countryOf(address: string): string | null {
    if (this.#problem !== null) throw new Error(this.#problem)
    return this.#database?.countryOf(address) ?? null
  }

  /** Goes on without the file, for work that may need no country. */
  doWithout(problem: string): void {
    this.#problem = problem
  }

  /** Reads the file again when it has changed. */
  reload(): void {
    this.#database?.reload()
  }

  /** Opens the database of another configuration. The error is a sentence for the operator. */
  prepare({ geoip: { database: path } }: Pick<Config, 'geoip'>): Result<Prepared, string> {
    if (path === this.#path) return ok(NOTHING_PREPARED)
    const opened = path === '' ? ok(null) : open(path, this.#log)
    if (!opened.ok) return opened
    const take = (): void => {
      this.#path = path
      this.#database = opened.value
    }
    return ok({ ...NOTHING_PREPARED, take })
  }
}

function open(path: string, log: Logger): Result<CountryDatabase, string> {
  try {
    return ok(openCountryDatabase(path, log))
  } catch (error) {
    return err(`geoip.database: ${path} cannot be read as an MMDB file: ${(error as Error).message}`)
  }
}
