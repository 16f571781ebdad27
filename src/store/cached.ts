import { createSecretKey, type KeyObject } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { sha256Hex } from '../base/crypto.ts'
import type { Logger } from '../base/log.ts'
import { type AccountDefaults, NO_DEFAULTS } from '../core/tokens/accountDefaults.ts'
import { compileSnapshot } from '../core/tokens/snapshot.ts'
import type { TokenSnapshot } from '../core/access/types.ts'
import type { StreamRef } from '../core/streams/streamId.ts'
import { Lru } from '../base/lru.ts'
import { SilenceLog } from './log.ts'
import { SecuredPatterns } from './securedPatterns.ts'
import { StoreUnavailable, type ApiSecret, type Change, type Store, type StoredToken } from './store.ts'

/** Reading the version of the SQLite file costs as much as a decision, so the cache reads it at most this often. */
const LOOK_EVERY_MS = 5

export interface CachedToken {
  readonly snapshot: TokenSnapshot
  /** SHA-256 of the token's current value, in hex. */
  readonly hashHex: string
  /** The token's value as ASCII bytes: the HMAC key of tokens signed with it. Unsealed at first use. */
  signingKey(): KeyObject
}

/**
 * What may have changed: one token, what an account says for its tokens, sessions to end (`kick`), the feeds of one stream or
 * of all (null), what users want of their recordings, or anything (`all`).
 */
export type Changed =
  /** `atMs`: when it was made, epoch milliseconds. */
  | { readonly kind: 'token'; readonly id: number; readonly atMs: number }
  | { readonly kind: 'account'; readonly id: string; readonly atMs: number }
  | { readonly kind: 'kick'; readonly atMs: number }
  | { readonly kind: 'feed' | 'recording'; readonly stream: StreamRef | null }
  | { readonly kind: 'all' }

export type ChangeListener = (changed: Changed) => void

export interface AccessCacheOptions {
  store: Store
  /** Unseals the value of a token. */
  openValue: (sealed: Uint8Array) => string
  clock: Clock
  log: Logger
  /** The most cached tokens; the least recently used are evicted first. */
  maxEntries: number
  /** How long the cache answers from memory after its last contact with the store. After that: StoreUnavailable. */
  staleMs: () => number
}

/**
 * Caches compiled token snapshots and API secrets until they change.
 *
 * A change by this process takes effect at once (the command calls `forget…` before it answers). A change by another
 * process on the same SQLite file takes effect within five milliseconds, through the file's version. A change by another
 * node on PostgreSQL takes effect within two seconds, with its notification or the next look (`DueLook`). While the store is
 * unavailable, the cache answers for `staleMs`; then nothing is admitted.
 *
 * It is in one of three modes:
 * - **answering**: memory answers, and the store is asked for what is not in memory.
 * - **behind**: a look-up saw another version of the SQLite file. Until the changes have been read, or the read has failed,
 *   `…By…` waits and `peek…` says unknown.
 * - **silent**: no read of changes has succeeded for `staleMs`. `…By…` throws, `peek…` says unknown. The next successful
 *   contact with it ends this.
 *
 * `start` and `stop` belong to the app. Commands call `forget…` after their commit. Those that may wait for the store use
 * `…By…`; the fast paths of the edges use `peek…`, and leave what is unknown to the others.
 */
export class AccessCache {
  readonly #store: Store
  readonly #openValue: (sealed: Uint8Array) => string
  readonly #clock: Clock
  readonly #log: Logger
  readonly #silence: SilenceLog
  readonly #staleMs: () => number
  readonly #tokensById: Lru<number, CachedToken>
  /** Keyed by the SHA-256 of the value, in hex. */
  readonly #idByHash: Lru<string, number>
  readonly #secrets = new Lru<string, ApiSecret>(1000)
  readonly #accounts = new Lru<string, AccountDefaults>(1000)
  /**
   * The SHA-256 of values that were valid when last presented: hashing again costs as much as a decision.
   * A digest proves nothing: each call looks up whether it still belongs to a token or a secret.
   */
  readonly #digests: Lru<string, string>
  #cursor: string | null = null
  #generation = 0
  #heardAtMs: number
  #lookedAtMs = Number.NEGATIVE_INFINITY
  /** A read of changes that is under way, and the one that follows it. */
  #catchingUp: Promise<void> | null = null
  #catchingUpNext: Promise<void> | null = null
  /** Until the changes of another process that were noticed last have been read. */
  #behind: Promise<void> | null = null
  #stopWatching: () => void = () => {}
  readonly #listeners = new Set<ChangeListener>()
  /** Streams whose viewers will need tokens. Tell it of new tokens, too. */
  readonly secured: SecuredPatterns

  #isStarted = false

  constructor(options: AccessCacheOptions) {
    this.#store = options.store
    this.secured = new SecuredPatterns(options.store, options.clock)
    this.#openValue = options.openValue
    this.#clock = options.clock
    this.#log = options.log
    this.#silence = new SilenceLog(options.log)
    this.#staleMs = options.staleMs
    this.#tokensById = new Lru(options.maxEntries)
    this.#idByHash = new Lru(options.maxEntries)
    this.#digests = new Lru(options.maxEntries)
    this.#heardAtMs = options.clock.monotonic()
  }

  async start(): Promise<void> {
    await this.#catchUp()
    this.#isStarted = true
    this.#stopWatching = this.#store.watch((what) => {
      // The look of each second finds what a failed read or a lost notification leaves; see `heard`.
      if (what === 'second') return
      this.#catchUp().catch((error: unknown) => this.#log.error({ err: error }, 'changes could not be read'))
    })
  }

  /** The cursor of the last read of changes; null before `start`. */
  get position(): string | null {
    return this.#cursor
  }

  /**
   * Call it with what the store says once a second: whether there are changes after `position`.
   * @param askedAtMs when it was asked, monotonic milliseconds: its answer says nothing of later changes
   */
  async heard(hasChanges: boolean, askedAtMs: number): Promise<void> {
    if (hasChanges || this.#cursor === null) await this.#catchUp()
    else this.#noteHeard(askedAtMs)
  }

  /** Call it with the error instead, if the store does not answer. @throws what is not StoreUnavailable */
  unheard(error: unknown): void {
    if (!(error instanceof StoreUnavailable)) throw error
    this.#silence.lasts(this.silentMs(), this.#staleMs(), error)
  }

  /** Waits for a read of changes that is under way, so that closing the store causes no false warning. */
  async stop(): Promise<void> {
    this.#stopWatching()
    await (this.#catchingUpNext ?? this.#catchingUp)?.catch(() => undefined)
  }

  /** Calls `listener` after a change may have happened on any node; it must not throw. Returns the function that unsubscribes. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The token that has this value, or undefined. @throws StoreUnavailable */
  async tokenByValue(value: string): Promise<CachedToken | undefined> {
    await this.#catchUpIfBehind()
    return this.#cachedByValue(value) ?? this.#loadByHash(value)
  }

  /** The token that has this value, if memory may answer. An absent token is always looked up in the store. */
  peekTokenByValue(value: string): CachedToken | 'unknown' {
    return this.#mayAnswer() ? (this.#cachedByValue(value) ?? 'unknown') : 'unknown'
  }

  /** @throws StoreUnavailable */
  async tokenById(id: number): Promise<CachedToken | undefined> {
    await this.#catchUpIfBehind()
    return this.#tokensById.get(id) ?? this.#load(() => this.#store.read.tokens.get(id))
  }

  /** As `peekTokenByValue`, by the id. */
  peekTokenById(id: number): CachedToken | 'unknown' {
    return this.#mayAnswer() ? (this.#tokensById.get(id) ?? 'unknown') : 'unknown'
  }

  /** The API secret that has this value, or undefined. @throws StoreUnavailable */
  async secretByValue(value: string): Promise<ApiSecret | undefined> {
    await this.#catchUpIfBehind()
    return this.#cachedSecret(value) ?? this.#loadSecret(sha256Hex(value))
  }

  /** The API secret that has this value, if memory may answer. An absent secret is always looked up in the store. */
  peekSecretByValue(value: string): ApiSecret | 'unknown' {
    return this.#mayAnswer() ? (this.#cachedSecret(value) ?? 'unknown') : 'unknown'
  }

  /** Call it after a committed change of this token on this node. @param atMs when it was made */
  forgetToken(id: number, atMs = this.#clock.now()): void {
    this.#generation++
    this.#tokensById.delete(id)
    this.secured.forget()
    this.#notify({ kind: 'token', id, atMs })
  }

  /** What an account says for its tokens. @throws StoreUnavailable */
  async accountDefaults(accountId: string): Promise<AccountDefaults> {
    await this.#catchUpIfBehind()
    return this.#accountOf(accountId)
  }

  /** Whether an account wants its admissions in the access log. @throws StoreUnavailable */
  async logsAdmissions(accountId: string): Promise<boolean> {
    return (await this.#accountOf(accountId)).logAdmissions
  }

  /**
   * Call it after a committed change of what an account says for its tokens on this node. It changes rarely, so the tokens of
   * all accounts are read again.
   * @param atMs when it was made
   */
  forgetAccount(id: string, atMs = this.#clock.now()): void {
    this.#generation++
    this.#accounts.delete(id)
    this.#tokensById.clear()
    this.#notify({ kind: 'account', id, atMs })
  }

  /** Call it after a committed change of any API secret on this node. There are few, so it drops all of them. */
  forgetSecrets(): void {
    this.#generation++
    this.#secrets.clear()
  }

  /** Milliseconds since the last question that the store answered; for metrics and `/readyz`. */
  silentMs(): number {
    return this.#clock.monotonic() - this.#heardAtMs
  }

  #noteHeard(askedAtMs: number): void {
    this.#silence.over(this.silentMs())
    this.#heardAtMs = Math.max(this.#heardAtMs, askedAtMs)
  }

  #cachedByValue(value: string): CachedToken | undefined {
    const remembered = this.#digests.get(value)
    const hashHex = remembered ?? sha256Hex(value)
    const id = this.#idByHash.get(hashHex)
    const cached = id === undefined ? undefined : this.#tokensById.get(id)
    // The id stays the same when a token gets a new value, so the value has to be compared, not only found.
    if (cached?.hashHex !== hashHex) return undefined
    if (remembered === undefined) this.#digests.set(value, cached.hashHex)
    return cached
  }

  async #loadByHash(value: string): Promise<CachedToken | undefined> {
    const hashHex = sha256Hex(value)
    const found = await this.#load(() => this.#store.read.tokens.findByHash(Buffer.from(hashHex, 'hex')), hashHex)
    if (found) this.#digests.set(value, hashHex)
    return found
  }

  #cachedSecret(value: string): ApiSecret | undefined {
    const remembered = this.#digests.get(value)
    const hashHex = remembered ?? sha256Hex(value)
    const cached = this.#secrets.get(hashHex)
    if (cached && remembered === undefined) this.#digests.set(value, hashHex)
    return cached
  }

  /** False while changes of another process are read, and when the store has been silent for too long. */
  #mayAnswer(): boolean {
    const nowMs = this.#clock.monotonic()
    if (nowMs - this.#heardAtMs > this.#staleMs()) return false
    if (nowMs - this.#lookedAtMs >= LOOK_EVERY_MS) this.#look(nowMs)
    return this.#behind === null
  }

  /** The store answers each change once, so a look-up that may not wait leaves the change to those that may. */
  #look(nowMs: number): void {
    this.#lookedAtMs = nowMs
    if (this.#behind !== null || !this.#store.changedRemotely()) return
    const behind = this.#catchUp().finally(() => {
      this.#behind = null
    })
    // A failure is for the look-ups that wait; there may be none.
    behind.catch(() => undefined)
    this.#behind = behind
  }

  /** @throws StoreUnavailable when the store has been silent for too long */
  async #catchUpIfBehind(): Promise<void> {
    while (!this.#mayAnswer()) {
      if (this.#behind === null) throw new StoreUnavailable('the store has been silent for too long')
      await this.#behind
    }
  }

  /** Reads changes. A read that is under way may have begun before the change of this call, so another one follows it. */
  #catchUp(): Promise<void> {
    if (this.#catchingUp === null) return this.#beginCatchUp()
    this.#catchingUpNext ??= this.#catchingUp
      .catch(() => undefined)
      .then(() => {
        this.#catchingUpNext = null
        return this.#beginCatchUp()
      })
    return this.#catchingUpNext
  }

  #beginCatchUp(): Promise<void> {
    this.#catchingUp = this.#readChanges().finally(() => {
      this.#catchingUp = null
    })
    return this.#catchingUp
  }

  async #readChanges(): Promise<void> {
    const askedAtMs = this.#clock.monotonic()
    try {
      const { changes, cursor, reset } = await this.#store.changesSince(this.#cursor)
      // If the store did not answer at the start, what was read since may have changed unseen.
      if (reset || (this.#cursor === null && this.#isStarted)) this.#forgetAll()
      for (const change of changes) {
        if (change.kind === 'token') this.forgetToken(change.id, change.atMs)
        if (change.kind === 'secret') this.forgetSecrets()
        if (change.kind === 'account') this.forgetAccount(change.accountId, change.atMs)
        if (change.kind === 'kick') this.#notify({ kind: 'kick', atMs: change.atMs })
        if (change.kind === 'feed' || change.kind === 'recording')
          this.#notify({ kind: change.kind, stream: streamOf(change) })
      }
      this.#cursor = cursor
      this.#noteHeard(askedAtMs)
    } catch (error) {
      this.unheard(error)
    }
  }

  #forgetAll(): void {
    this.#generation++
    this.#tokensById.clear()
    this.#secrets.clear()
    this.#accounts.clear()
    this.secured.forget()
    this.#notify({ kind: 'all' })
  }

  #notify(what: Changed): void {
    for (const listener of this.#listeners) listener(what)
  }

  /** Reads and caches a token. Reads again when something changed meanwhile, because the result may be old. */
  async #load(find: () => Promise<StoredToken | undefined>, hashHex?: string): Promise<CachedToken | undefined> {
    for (let attempt = 1; ; attempt++) {
      const generation = this.#generation
      const token = await find()
      if (!token) return undefined
      const cached = await this.#compile(token)
      const unchanged = generation === this.#generation
      if (unchanged) {
        this.#tokensById.set(token.id, cached)
        if (hashHex !== undefined) this.#idByHash.set(hashHex, token.id)
      }
      // After three rounds under constant change, returns the token without caching it.
      if (unchanged || attempt === 3) return cached
    }
  }

  async #compile(token: StoredToken): Promise<CachedToken> {
    const [bound, revokedJtis, account] = await Promise.all([
      token.bindIpsOnUsage > 0 ? this.#store.read.bindings.list(token.id) : [],
      token.kind === 'subscribe' ? this.#store.read.revocations.list(token.id) : [],
      this.#accountOf(token.accountId),
    ])
    const snapshot = compileSnapshot(
      token,
      bound.map((b) => b.address),
      revokedJtis,
      account,
    )
    let key: KeyObject | undefined
    return {
      snapshot,
      hashHex: Buffer.from(token.valueHash).toString('hex'),
      signingKey: () => (key ??= createSecretKey(Buffer.from(this.#openValue(token.valueSealed), 'ascii'))),
    }
  }

  async #accountOf(id: string): Promise<AccountDefaults> {
    const cached = this.#accounts.get(id)
    if (cached) return cached
    const generation = this.#generation
    const defaults = (await this.#store.read.accounts.defaults(id)) ?? NO_DEFAULTS
    if (generation === this.#generation) this.#accounts.set(id, defaults)
    return defaults
  }

  async #loadSecret(hashHex: string): Promise<ApiSecret | undefined> {
    const generation = this.#generation
    const secret = await this.#store.read.secrets.findByHash(Buffer.from(hashHex, 'hex'))
    if (secret && generation === this.#generation) this.#secrets.set(hashHex, secret)
    return secret
  }
}

const streamOf = ({ accountId, streamName }: Change): StreamRef | null =>
  streamName === undefined ? null : { accountId, streamName }
