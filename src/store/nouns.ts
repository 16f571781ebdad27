import type { Executor } from './executor.ts'

type Made<T> = new (executor: Executor) => T

/** Makes an object whose properties are the nouns of `T`. Each is made when it is first used: most transactions use few. */
export function nounsOf<T extends object, K extends string>(
  nouns: { readonly [N in keyof T]: { readonly [kind in K]: Made<T[N]> } },
  kind: K,
): (executor: Executor) => T {
  const prototype = {}
  for (const [noun, classes] of Object.entries<{ readonly [kind in K]?: Made<unknown> }>(nouns)) {
    const Noun = classes[kind]
    if (Noun === undefined) continue
    const get = function (this: { executor: Executor }): unknown {
      const value = new Noun(this.executor)
      Object.defineProperty(this, noun, { value, configurable: true })
      return value
    }
    Object.defineProperty(prototype, noun, { get })
  }
  return (executor) => Object.create(prototype, { executor: { value: executor } }) as T
}

/**
 * An object like `of`, but for its own properties. A spread would lose the verbs of a noun, which are in its class. Verbs run on
 * `of` itself: an object that inherits from it would not have its private parts.
 */
export const overriding = <T extends object>(of: T, own: Partial<T>): T =>
  new Proxy(of, {
    get(target, name): unknown {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name)
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
