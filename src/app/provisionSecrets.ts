import { readFileSync, statSync } from 'node:fs'
import type { Environment } from '../config/environment.ts'

interface Resolved {
  readonly value: Record<string, unknown>
  /** The settings at the top that have a value from elsewhere. */
  readonly hidden: ReadonlySet<string>
  readonly problems: readonly { readonly path: string; readonly message: string }[]
}

const MAX_BYTES = 64 * 1024
const HOW = 'valueFrom takes one of: env: NAME, file: PATH'

/** Replaces `{ valueFrom: { env: NAME } }` and `{ valueFrom: { file: PATH } }` with the text that they name. */
export class SecretReader {
  readonly #env: Environment

  constructor(env: Environment) {
    this.#env = env
  }

  resolve(settings: Record<string, unknown>): Resolved {
    const problems: { path: string; message: string }[] = []
    const hidden = new Set<string>()
    const walk = (value: unknown, path: string): unknown => {
      if (Array.isArray(value)) return value.map((item, at) => walk(item, `${path}[${at}]`))
      if (typeof value !== 'object' || value === null) return value
      if ('valueFrom' in value) {
        hidden.add(path.split(/[.[]/)[0] ?? '')
        const text = this.#text(value)
        if (typeof text === 'string') return text
        problems.push({ path, message: text.problem })
        return undefined
      }
      return walkObject(value, path === '' ? '' : `${path}.`)
    }
    const walkObject = (object: object, prefix: string) =>
      Object.fromEntries(Object.entries(object).map(([name, value]) => [name, walk(value, `${prefix}${name}`)]))
    return { value: walkObject(settings, ''), hidden, problems }
  }

  #text(value: { valueFrom: unknown }): string | { readonly problem: string } {
    const { valueFrom, ...others } = value
    if (typeof valueFrom !== 'object' || valueFrom === null || Object.keys(others).length > 0) return { problem: HOW }
    const entries = Object.entries(valueFrom)
    const [[source, name] = []] = entries
    if (entries.length !== 1 || typeof name !== 'string') return { problem: HOW }
    if (source === 'env') return this.#env[name] || { problem: `the environment variable ${name} is not set` }
    return source === 'file' ? textOf(name) : { problem: HOW }
  }
}

/** The first line: editors end a file with a line feed that is not part of the secret. */
function textOf(file: string): string | { readonly problem: string } {
  try {
    if (statSync(file).size > MAX_BYTES) return { problem: `${file} is longer than ${MAX_BYTES} bytes` }
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '') || { problem: `${file} is empty` }
  } catch (cause) {
    return { problem: `${file} cannot be read (${(cause as NodeJS.ErrnoException).code})` }
  }
}
