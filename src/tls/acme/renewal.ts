import { DAY_MS, HOUR_MS, isoTime } from '../../base/time.ts'
import { daysLeft, isRenewalDue, renewAtMs, renewalPauseMs } from '../../core/certificates/renewal.ts'
import { noticeText, type Said } from '../../core/notices.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { repeat, type Repetition } from '../../base/repeat.ts'
import { type Certificate, type PemPair, readCertificate } from '../certificate.ts'
import type { ServedCertificate } from '../served.ts'
import { askedPauseMs, explainFailure } from './failures.ts'
import { newPrivateKey, orderCertificate } from './order.ts'
import { acmeId, openValue, pruneAnswers, publishChallenge, sealValue, type SharedOptions } from './values.ts'

export interface AcmeOptions extends SharedOptions {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly domains: readonly string[]
  readonly email: string
  readonly directoryUrl: string
  readonly caFile: string
}

const LOOK_MS = 1000
/** An order that takes longer has failed. */
const ORDER_MS = 180_000
/** Longer than an order, so that only a node that died leaves one. */
const LEASE_MS = ORDER_MS + 30_000
/** After a success too: a wrong clock may find each new certificate too old. */
const PAUSE_MS = HOUR_MS
const CHALLENGE_KEPT_MS = DAY_MS

/**
 * Keeps the certificate of these domains current on this node: takes what another node has got, and gets one under a lease
 * when it is due, so that one node at a time asks.
 */
export class AcmeCertificate {
  readonly #options: AcmeOptions
  readonly #id: string
  readonly #accountId: string
  /** Spreads the renewals of installations, and the retries. */
  readonly #luck: number
  /** The stored value that this node serves. */
  #seen: Buffer = Buffer.alloc(0)

  constructor(options: AcmeOptions) {
    const { directoryUrl, domains, random } = options
    this.#options = options
    this.#id = acmeId('certificate', directoryUrl, ...domains.toSorted())
    this.#accountId = acmeId('account', directoryUrl)
    this.#luck = random.bytes(1).readUInt8() / 255
  }

  /** The stored certificate; null: no node has got one yet. */
  async stored(): Promise<Certificate | null> {
    const sealed = await this.#options.store.read.acme.value(this.#id)
    return sealed ? this.#read(sealed) : null
  }

  /** Why the latest renewal of any node failed; null: it did not. */
  async problem(): Promise<Said | null> {
    return (await this.#options.store.read.acme.renewal(this.#id))?.problem ?? null
  }

  /** Follows and renews until it is stopped; orders under way are aborted then. */
  follow(served: ServedCertificate): Repetition {
    const { clock, log } = this.#options
    return repeat({ clock, log, name: 'renew the certificate', everyMs: LOOK_MS }, async (signal) => {
      const dueAtMs = await this.#take(served)
      if (isRenewalDue(dueAtMs, clock.now()) && this.#isDue(served)) await this.#renew(served, signal)
    })
  }

  #isDue({ current, isTemporary }: ServedCertificate): boolean {
    return isTemporary || this.#options.clock.now() >= renewAtMs(current, this.#luck)
  }

  /** Takes what is in the store. Returns when the next attempt may begin, whichever node makes it. */
  async #take(served: ServedCertificate): Promise<number> {
    const sealed = await this.#options.store.read.acme.value(this.#id)
    if (sealed && !this.#seen.equals(sealed)) {
      served.replace(this.#read(sealed))
      this.#seen = Buffer.from(sealed)
    }
    const { problem = null, dueAtMs = 0 } = (await this.#options.store.read.acme.renewal(this.#id)) ?? {}
    if (problem !== null) served.keep(problem)
    return dueAtMs
  }

  async #renew(served: ServedCertificate, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#options
    if (!(await store.transaction((tx) => tx.acme.claim(this.#id, LEASE_MS, clock.now())))) return
    try {
      // Another node may have finished just before.
      await this.#take(served)
      if (!this.#isDue(served)) return await store.transaction((tx) => tx.acme.settle(this.#id, 0))
      await this.#keep(await this.#order(AbortSignal.any([signal, AbortSignal.timeout(ORDER_MS)])))
      await this.#take(served)
    } catch (error) {
      if (signal.aborted) await this.#release()
      else await this.#failed(error, served)
    }
  }

  /** This node stops; another one may begin at once. */
  async #release(): Promise<void> {
    const { store, clock } = this.#options
    const { failures = 0, problem = null } = (await store.read.acme.renewal(this.#id)) ?? {}
    await store.transaction((tx) => tx.acme.fail(this.#id, { failures, problem, dueAtMs: clock.now() }))
  }

  async #order(signal: AbortSignal): Promise<PemPair> {
    const { clock } = this.#options
    await pruneAnswers(this.#options, clock.now() - CHALLENGE_KEPT_MS)
    return orderCertificate({
      ...this.#options,
      signal,
      accountKey: await this.#accountKey(),
      publish: (token, answer) => publishChallenge(this.#options, token, answer, clock.now()),
    })
  }

  /** Of all nodes. Stored before its first use, so that a crash makes no second one. */
  async #accountKey(): Promise<string> {
    const { store, sealer, clock } = this.#options
    const sealed = await store.read.acme.value(this.#accountId)
    if (sealed) return openValue(sealer, sealed)
    const key = await newPrivateKey()
    await store.transaction((tx) => tx.acme.put(this.#accountId, sealValue(sealer, key), clock.now()))
    return key
  }

  async #keep(pair: PemPair): Promise<void> {
    const checked = readCertificate(pair)
    if (!checked.ok) throw new Error(`the certificate of the authority and its key: ${noticeText([checked.error])}`)
    const { store, sealer, clock } = this.#options
    await store.transaction(async (tx) => {
      await tx.acme.put(this.#id, sealValue(sealer, JSON.stringify(pair)), clock.now())
      await tx.acme.settle(this.#id, clock.now() + PAUSE_MS)
    })
  }

  async #failed(error: unknown, { current }: ServedCertificate): Promise<void> {
    const { store, clock, log, directoryUrl } = this.#options
    const failures = ((await store.read.acme.renewal(this.#id))?.failures ?? 0) + 1
    const dueAtMs = Math.round(clock.now() + renewalPauseMs(failures, this.#luck, askedPauseMs(error)))
    const problem = explainFailure(error, directoryUrl)
    await store.transaction((tx) => tx.acme.fail(this.#id, { failures, dueAtMs, problem }))
    const retryAt = isoTime(dueAtMs)
    log.warn({ failures, retryAt, daysLeft: daysLeft(current, clock.now()) }, problem.message)
  }

  #read(sealed: Uint8Array): Certificate {
    const pair = JSON.parse(openValue(this.#options.sealer, sealed)) as PemPair
    const checked = readCertificate(pair)
    if (!checked.ok) throw new Error(`the stored certificate and its key: ${noticeText([checked.error])}`)
    return checked.value
  }
}
