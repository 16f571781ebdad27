import type { ProvisionKind } from './types.ts'

const LENGTH_MAX = 56

/** What people read of a thing: `webhooks.backend`, or the kind alone if it has no names. */
export const labelOf = ({ kind, name }: { readonly kind: string; readonly name: string }): string =>
  name === '' ? kind : `${kind}.${name}`

/** Names of things in a provisioning file: what files call them already, else made of their labels. */
export class ProvisionNames {
  readonly #given: ReadonlyMap<string, string>
  readonly #used: Set<string>
  /** The last number behind each label, because labels may be the same a hundred thousand times. */
  readonly #numbers = new Map<string, number>()

  /** @param rows what files made */
  constructor(rows: readonly { readonly kind: string; readonly name: string; readonly resourceId: string }[]) {
    this.#given = new Map(rows.map(({ kind, name, resourceId }) => [`${kind} ${resourceId}`, name]))
    this.#used = new Set(rows.map(({ kind, name }) => `${kind} ${name}`))
  }

  of(kind: ProvisionKind, id: string, label: string): string {
    return this.#given.get(`${kind} ${id}`) ?? this.#fresh(kind, label)
  }

  #fresh(kind: ProvisionKind, label: string): string {
    const base =
      label
        .replace(/[^\w.-]+/g, '-')
        .replace(/^[^A-Za-z0-9]+|-$/g, '')
        .slice(0, LENGTH_MAX) || 'unnamed'
    let name = base
    let number = this.#numbers.get(`${kind} ${base}`) ?? 1
    while (this.#used.has(`${kind} ${name}`)) name = `${base}-${++number}`
    this.#numbers.set(`${kind} ${base}`, number)
    this.#used.add(`${kind} ${name}`)
    return name
  }
}
