import { allKeys, type Config, environmentName } from './schema.ts'
import { shownOf } from './keys.ts'
import { build, type Origin, originOf } from './load.ts'
import { tlsSource } from './tlsSource.ts'

/** A key whose value differs between two configurations. Secrets are never in `from` and `to`. */
export interface ChangedKey {
  readonly key: string
  readonly from: unknown
  readonly to: unknown
}

/** What a reload does with the keys that changed. */
export interface ConfigChanges {
  /** Keys that apply at run time. */
  readonly applied: readonly ChangedKey[]
  /** Keys that need a restart; the running server keeps their old values. */
  readonly needRestart: readonly ChangedKey[]
}

/** A key with its present value, for the operator. */
export interface ListedKey {
  /** In dotted form. */
  readonly key: string
  /** Of a secret, the same text whatever it is. */
  readonly value: unknown
  readonly isSecret: boolean
  /** Null: the default. */
  readonly origin: Origin | null
  /** A reload does not apply it. */
  readonly needsRestart: boolean
  readonly default: unknown
  /** Its environment variable. */
  readonly variable: string
  readonly about: string
  readonly allowed: string
}

/** Holds the configuration that a process runs with. A reload replaces it; each configuration stays frozen. */
export class ConfigHolder {
  #current: Config

  constructor(config: Config) {
    this.#current = config
  }

  get current(): Config {
    return this.#current
  }

  /** What `replace` would do. */
  compare(next: Config): ConfigChanges {
    const isLive = this.#liveKeys(next)
    const changed = allKeys().flatMap(([path, key]) => {
      const [from, to] = [valueAt(this.#current, path), valueAt(next, path)]
      if (isSame(from, to)) return []
      return [{ live: isLive(path), change: { key: path, from: shownOf(key, from), to: shownOf(key, to) } }]
    })
    const of = (wanted: boolean) => changed.filter(({ live }) => live === wanted).map(({ change }) => change)
    return { applied: of(true), needRestart: of(false) }
  }

  /** Takes over the keys that apply at run time, and keeps the others. */
  replace(next: Config): ConfigChanges {
    const changes = this.compare(next)
    this.#current = this.preview(next)
    return changes
  }

  /** What `replace` would leave here: the keys of `next` that apply at run time, and the present others. */
  preview(next: Config): Config {
    const isLive = this.#liveKeys(next)
    const values = allKeys().map(([path]) => {
      const from = isLive(path) ? next : this.#current
      return [path, { value: valueAt(from, path), origin: originOf(from, path) }] as const
    })
    return build(new Map(values))
  }

  /** Every key as it may be shown to the operator. */
  list(): ListedKey[] {
    const isLive = this.#liveKeys(this.#current)
    return allKeys().map(([path, key]) => ({
      key: path,
      value: shownOf(key, valueAt(this.#current, path)),
      isSecret: key.secret,
      origin: originOf(this.#current, path),
      needsRestart: !isLive(path),
      default: key.default,
      variable: environmentName(path),
      about: key.about,
      allowed: key.allowed,
    }))
  }

  /** Keys of TLS apply at run time only while the certificate comes from where it came from at the start. */
  #liveKeys(next: Config): (path: string) => boolean {
    const [from, to] = [tlsSource(this.#current), tlsSource(next)]
    const hasTls = from.ok && to.ok && from.value !== null && from.value === to.value
    const live = new Set(allKeys().flatMap(([path, key]) => (key.live ? [path] : [])))
    return (path) => live.has(path) && (hasTls || !path.startsWith('tls.'))
  }
}

const valueAt = (config: Config, path: string): unknown =>
  path.split('.').reduce<unknown>((section, name) => (section as Record<string, unknown>)[name], config)

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/**
 * An object whose fields always have their present values, for parts that read their options at each use. Do not spread
 * it: that copies the values of one moment.
 */
export function liveView<T extends object>(read: () => T): Readonly<T> {
  const getters = Object.keys(read()).map((name) => {
    const get = () => read()[name as keyof T]
    return [name, { get, enumerable: true }] as const
  })
  return Object.defineProperties({}, Object.fromEntries(getters)) as T
}
