import { allKeys, type Config } from './schema.ts'
import { build } from './load.ts'

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
    const changed = allKeys().flatMap(([path, { live, secret }]) => {
      const [from, to] = [valueAt(this.#current, path), valueAt(next, path)]
      if (isSame(from, to)) return []
      const shown = secret ? { from: '(secret)', to: '(secret)' } : { from, to }
      return [{ live, change: { key: path, ...shown } }]
    })
    const of = (wanted: boolean) => changed.filter(({ live }) => live === wanted).map(({ change }) => change)
    return { applied: of(true), needRestart: of(false) }
  }

  /** Takes over the keys that apply at run time, and keeps the others. */
  replace(next: Config): ConfigChanges {
    const changes = this.compare(next)
    const values = allKeys().map(([path, { live }]) => [path, valueAt(live ? next : this.#current, path)] as const)
    this.#current = build(new Map(values))
    return changes
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
