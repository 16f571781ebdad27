import { isoTime } from '../base/time.ts'
import type { Logger } from '../base/log.ts'
import type { Said } from '../core/notices.ts'
import type { Certificate } from './certificate.ts'

/** The certificate of all handshakes of this process. Parts that listen follow it. */
export class ServedCertificate {
  #current: Certificate
  #isTemporary: boolean
  #problem: Said | null = null
  readonly #log: Logger
  readonly #listeners = new Set<(current: Certificate) => void>()

  /** @param isTemporary no client trusts the first one */
  constructor(first: Certificate, log: Logger, isTemporary = false) {
    this.#current = first
    this.#isTemporary = isTemporary
    this.#log = log
    this.#say(first, isTemporary ? 'serving a temporary certificate, which clients refuse' : 'serving a certificate')
  }

  get current(): Certificate {
    return this.#current
  }

  /** Clients refuse the current one, because there was no other yet. */
  get isTemporary(): boolean {
    return this.#isTemporary
  }

  /** Why the latest replacement failed; null: it did not. */
  get problem(): Said | null {
    return this.#problem
  }

  onChange(listener: (current: Certificate) => void): void {
    this.#listeners.add(listener)
  }

  /** Open connections keep the certificate of their handshake. */
  replace(next: Certificate): void {
    this.#problem = null
    this.#isTemporary = false
    if (next.serial === this.#current.serial && next.cert === this.#current.cert) return
    this.#current = next
    for (const listener of this.#listeners) listener(next)
    this.#say(next, 'the certificate was replaced')
  }

  /** Keeps the current one. Logs a problem once. */
  keep(problem: Said): void {
    if (problem.message === this.#problem?.message) return
    this.#problem = problem
    const kept = this.#isTemporary ? 'the temporary one stays, which clients refuse' : 'the old one stays'
    this.#log.error(
      { problem: problem.message, expiresAt: iso(this.#current) },
      `the certificate was not replaced; ${kept}`,
    )
  }

  #say({ serial, names, expiresMs }: Certificate, what: string): void {
    this.#log.info({ serial, names: names.slice(0, 20), expiresAt: isoTime(expiresMs) }, what)
  }
}

const iso = ({ expiresMs }: Certificate): string => isoTime(expiresMs)
