import { Type, type Static, type TObject, type TSchema } from 'typebox'
import { Check } from 'typebox/schema'
import { isObject } from '../../base/objects.ts'
import { asksForNothing, isNotBuilt, type NotBuilt } from './notBuilt.ts'
import { type Problems, shown } from './problems.ts'
import { closest } from './suggest.ts'

/**
 * Checks JSON against a schema and says what is allowed in the terms of the API. TypeBox checks single values.
 * Objects and lists are walked here, because TypeBox's own error list stops at eight, names neither the misspelt
 * property nor a suggestion, and speaks of `anyOf`.
 */

/** Why an unknown property is refused, where there is more to say than that it is unknown. */
export type Hints = ReadonlyMap<string, string>

const NO_HINTS: Hints = new Map()

/**
 * The parts of a body that have the right shape. An absent, null or invalid property reads as undefined, so that
 * later rules can check the rest.
 */
export class BodyReader<T extends object> {
  readonly problems: Problems
  /** The path of this object within the body, with a dot at the end; '' for the body itself. */
  readonly at: string
  readonly #body: Partial<T>

  constructor(body: Partial<T>, problems: Problems, at = '') {
    this.#body = body
    this.problems = problems
    this.at = at
  }

  value<K extends keyof T & string>(name: K): NonNullable<T[K]> | undefined {
    if (!Object.hasOwn(this.#body, name) || this.problems.touches(this.at + name)) return undefined
    return this.#body[name] ?? undefined
  }

  /** The object in this property, as a reader; an empty one when the property is absent. */
  part<K extends keyof T & string>(name: K): BodyReader<NonNullable<T[K]> & object> {
    const value: unknown = Object.hasOwn(this.#body, name) ? this.#body[name] : undefined
    const body = isObject(value) && !this.problems.has(this.at + name) ? value : {}
    return new BodyReader(body as Partial<NonNullable<T[K]> & object>, this.problems, `${this.at}${name}.`)
  }

  /** The objects of a list, as readers, including the invalid ones. */
  parts<K extends keyof T & string>(name: K): BodyReader<Item<T[K]> & object>[] {
    const list: unknown = Object.hasOwn(this.#body, name) ? this.#body[name] : undefined
    if (!Array.isArray(list) || this.problems.has(this.at + name)) return []
    const at = (index: number) => `${this.at}${name}[${index}].`
    return list.map((item: unknown, index) => {
      const body = isObject(item) ? item : {}
      return new BodyReader(body as Partial<Item<T[K]> & object>, this.problems, at(index))
    })
  }

  /** The valid items of a list, each with its path. */
  items<K extends keyof T & string>(name: K): { at: string; item: Item<T[K]> }[] {
    const list: unknown = Object.hasOwn(this.#body, name) ? this.#body[name] : undefined
    if (!Array.isArray(list) || this.problems.has(this.at + name)) return []
    return (list as Item<T[K]>[])
      .map((item, index) => ({ at: `${this.at}${name}[${index}]`, item }))
      .filter(({ at }) => !this.problems.touches(at))
  }

  /** Whether the property was sent as null. */
  clears(name: string): boolean {
    return Object.hasOwn(this.#body, name) && (this.#body as Record<string, unknown>)[name] === null
  }

  /** Whether the property was sent with a value other than null. */
  names(name: string): boolean {
    return Object.hasOwn(this.#body, name) && (this.#body as Record<string, unknown>)[name] !== null
  }
}

type Item<T> = NonNullable<T> extends readonly (infer I)[] ? I : never

/**
 * Checks a body and wraps it for reading.
 * @param hints see `Hints`
 */
export function readShape<S extends TObject>(
  schema: S,
  body: unknown,
  problems: Problems,
  hints: Hints = NO_HINTS,
): BodyReader<Static<S> & object> {
  type Body = Static<S> & object
  if (!isObject(body)) {
    problems.add('body', 'must be a JSON object')
    return new BodyReader<Body>({}, problems)
  }
  checkObject(schema, body, '', problems, hints)
  return new BodyReader<Body>(body as Partial<Body>, problems)
}

/** Adds the problems of `value`. A path that has a problem already is skipped. */
function check(schema: TSchema, value: unknown, path: string, problems: Problems): void {
  if (problems.has(path)) return
  if (isNotBuilt(schema)) return refuseNotBuilt(schema, value, path, problems)
  const variant = variantFor(resolve(schema), value)
  if (variant === null) problems.add(path, `must be ${allowed(schema)}`)
  else if (Type.IsObject(variant) && isObject(value)) checkObject(variant, value, path, problems, NO_HINTS)
  else if (Type.IsArray(variant) && Array.isArray(value)) checkList(variant, value, path, problems)
  else if (!Check(variant, value)) problems.add(path, `must be ${allowed(schema)}`)
}

function refuseNotBuilt(schema: NotBuilt, value: unknown, path: string, problems: Problems): void {
  const name = path.slice(path.lastIndexOf('.') + 1)
  if (!asksForNothing(schema, value)) problems.add(path, `${name} is not built: ${schema['x-not-built']}`)
}

function checkObject(
  schema: TObject,
  value: Record<string, unknown>,
  path: string,
  problems: Problems,
  hints: Hints,
): void {
  const prefix = path === '' ? '' : `${path}.`
  for (const name of Object.keys(value)) {
    const property = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    if (property) check(property, value[name], prefix + name, problems)
    else problems.add(prefix + name, () => hints.get(name) ?? unknownProperty(name, Object.keys(schema.properties)))
  }
  for (const name of (schema.required as string[] | undefined) ?? []) {
    if (!Object.hasOwn(value, name)) problems.add(prefix + name, `is required: ${allowed(propertyOf(schema, name))}`)
  }
}

function checkList(schema: TSchema, list: readonly unknown[], path: string, problems: Problems): void {
  const { items, minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema as ListSchema
  // Items of a list that is too long are not checked: the client chooses its length, and we bound our work.
  if (list.length < minItems || list.length > maxItems) {
    problems.add(path, `must be ${allowed(schema)}; it has ${list.length}`)
    return
  }
  for (const [index, item] of list.entries()) check(items, item, `${path}[${index}]`, problems)
}

function unknownProperty(name: string, known: readonly string[]): string {
  const meant = closest(name, known)
  return meant === null ? `unknown property ${shown(name)}` : `unknown property ${shown(name)}; did you mean ${meant}?`
}

interface ListSchema extends TSchema {
  items: TSchema
  minItems?: number
  maxItems?: number
}

/** The schemas that others refer to. */
const REFERENCES = new Map<string, TSchema>()

/** A reference to a schema by its `$id`: the API documents show it, and bodies are checked against the schema. */
export function refTo<T extends TSchema>(schema: T & { readonly $id?: string }) {
  const $ref = `${schema.$id ?? ''}#`
  REFERENCES.set($ref, schema)
  return Type.Unsafe<Static<T>>({ $ref })
}

function resolve(schema: TSchema): TSchema {
  const reference = '$ref' in schema ? schema.$ref : undefined
  return (typeof reference === 'string' ? REFERENCES.get(reference) : undefined) ?? schema
}

/** The variant of a union for this value, or else for its JSON type; null when there is none. A literal comes before its type. */
function variantFor(schema: TSchema, value: unknown): TSchema | null {
  if (!Type.IsUnion(schema)) return schema
  const variants = schema.anyOf.map(resolve)
  const takes = (variant: TSchema): boolean =>
    Type.IsLiteral(variant) ? variant.const === value : 'type' in variant && variant.type === jsonType(value)
  return variants.find(takes) ?? null
}

function jsonType(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'number' ? 'integer' : typeof value
}

const propertyOf = (schema: TObject, name: string): TSchema => schema.properties[name] ?? {}

/** Describes what a schema allows: `a string of 1 to 128 characters`. */
export function allowed(schema: TSchema): string {
  const node = resolve(schema)
  if (Type.IsUnion(node)) return node.anyOf.map(allowed).join(' or ')
  if (Type.IsNull(node)) return 'null'
  if (Type.IsLiteral(node)) return String(node.const)
  if (Type.IsBoolean(node)) return 'true or false'
  if (Type.IsObject(node)) return `an object with ${Object.keys(node.properties).join(' and ')}`
  const bounds = node as Bounds
  if (bounds.format === 'date-time') return 'a date and time with an offset (RFC 3339), such as 2026-01-31T09:30:00Z'
  if (Type.IsString(node)) return `a string of ${range(bounds.minLength, bounds.maxLength)} characters`
  if (Type.IsArray(node)) return `a list of ${range(bounds.minItems, bounds.maxItems)} entries`
  if (Type.IsInteger(node)) return `a whole number from ${bounds.minimum} ${upTo(bounds.maximum)}`
  return `one of ${(bounds.enum ?? []).join(', ')}`
}

interface Bounds {
  format?: string
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  minimum?: number
  maximum?: number
  enum?: unknown[]
}

const upTo = (to: number | undefined): string => (to === undefined ? 'on' : `to ${to}`)

const range = (from = 0, to?: number): string =>
  from === to ? `${from}` : to === undefined ? `at least ${from}` : `${from} to ${to}`
