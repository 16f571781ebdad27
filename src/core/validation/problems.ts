import { err, ok, type Result } from '../../base/result.ts'
import type { FieldErrors } from '../errors.ts'

const MESSAGES_MAX = 100
const ECHO_MAX = 64
const MESSAGE_MAX = 300

/**
 * Makes untrusted text safe for a message: at most 64 characters, without characters that a terminal or a page would
 * interpret (control and formatting characters, line separators and unpaired surrogates become U+FFFD).
 */
export function shown(text: string): string {
  return visible(clip(text, ECHO_MAX))
}

/** Cuts text to `max` UTF-16 units, including the ellipsis, without splitting a surrogate pair. */
function clip(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

function visible(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\uFFFD')
}

/**
 * Collects all errors of one request, so that one answer reports them all. Bounded: after 100 messages it only
 * counts.
 */
export class Problems {
  #messages = new Map<string, string[]>()
  #paths = new Set<string>()
  #touched = new Set<string>()
  #count = 0

  /** @param message a function if it is costly to make: it is not called once the bound is reached */
  add(path: string, message: string | (() => string)): void {
    const key = fieldPath(path)
    this.#touch(key)
    this.#count += 1
    if (this.#count > MESSAGES_MAX) return
    const text = visible(clip(typeof message === 'string' ? message : message(), MESSAGE_MAX))
    this.#messages.set(key, [...(this.#messages.get(key) ?? []), text])
  }

  /** Whether a problem was added for exactly this path. */
  has(path: string): boolean {
    return this.#paths.has(path)
  }

  /** Whether a problem was added for this path or for something inside it. */
  touches(path: string): boolean {
    return this.#touched.has(path)
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** `value` when there are no problems, otherwise the errors. */
  settle<T>(value: T): Result<T, FieldErrors> {
    return this.isEmpty ? ok(value) : err(this.#errors())
  }

  #errors(): FieldErrors {
    const entries = [...this.#messages]
    if (this.#count > MESSAGES_MAX) entries.push(['more', [`and ${this.#count - MESSAGES_MAX} more`]])
    // fromEntries defines own properties, so a field called `__proto__` is only a name here.
    return Object.fromEntries(entries)
  }

  #touch(path: string): void {
    this.#paths.add(path)
    this.#touched.add(path)
    for (const separator of path.matchAll(/[.[]/g)) this.#touched.add(path.slice(0, separator.index))
  }
}

/** Our paths are short and plain, but the name of an unknown property can be a megabyte of dots. */
function fieldPath(path: string): string {
  return path.length <= ECHO_MAX + 16 ? visible(path) : shown(path)
}
