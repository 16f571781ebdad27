import { type Content, type Parameter, resolved, type Schema, type Schemas } from './document.ts'

/** Deeper than any schema of ours, which bounds those that contain themselves. */
const DEPTH_MAX = 12

/** Examples of formats and of plain text. */
const TEXTS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T20:15:00.000Z',
  date: '2026-01-31',
  uri: 'https://example.com/',
  email: 'ann@example.com',
  ipv4: '203.0.113.7',
  password: '0123456789abcdef'.repeat(4),
  uuid: '01932c07-209c-7b4e-9d2f-6c1b5f0a7e31',
}

/** The stated example of a JSON body, or one with the required fields alone. */
export function bodyExample(content: Content, schemas: Schemas): unknown {
  const { schema = {}, example, examples = {} } = content['application/json'] ?? {}
  if (example !== undefined) return example
  const [stated] = Object.values(examples)
  return stated?.value ?? new Examples(schemas, 'required').of(schema)
}

/** An example of a parameter; where there is none, its name in capitals: `TOKEN_ID`. */
export function parameterExample({ name, example, schema }: Parameter): unknown {
  const stated = example ?? schema.examples?.[0] ?? schema.default ?? schema.enum?.[0]
  return stated ?? (schema.type === 'array' ? [placeholder(name)] : placeholder(name))
}

export const placeholder = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()

/** A whole answer: every field. */
export const answerExample = (schema: Schema, schemas: Schemas): unknown => new Examples(schemas, 'all').of(schema)

/** Makes values that a schema admits, from its own examples where it has some. */
class Examples {
  readonly #schemas: Schemas
  readonly #fields: 'required' | 'all'

  constructor(schemas: Schemas, fields: 'required' | 'all') {
    this.#schemas = schemas
    this.#fields = fields
  }

  of(named: Schema, depth = 0): unknown {
    const schema = resolved(named, this.#schemas)
    const stated = [schema.examples?.[0], schema.const, schema.default, schema.enum?.[0]]
    const first = stated.find((value) => value !== undefined)
    if (first !== undefined) return first
    const choice = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])].find(isSomething)
    return choice ? this.of(choice, depth) : this.#plain(schema, depth)
  }

  #plain(schema: Schema, depth: number): unknown {
    switch (typeOf(schema)) {
      case 'object':
        return depth > DEPTH_MAX ? {} : this.#object(schema, depth)
      case 'array':
        return depth > DEPTH_MAX || schema.maxItems === 0 ? [] : [this.of(schema.items ?? {}, depth + 1)]
      case 'string':
        return textOf(schema)
      case 'integer':
      case 'number':
        return numberOf(schema)
      case 'boolean':
        return true
      default:
        return null
    }
  }

  #object({ properties = {}, required = [], additionalProperties, patternProperties }: Schema, depth: number): unknown {
    const built = Object.entries(properties).filter(([, schema]) => schema['x-not-built'] === undefined)
    const needed = built.filter(([name]) => this.#fields === 'all' || required.includes(name))
    const fields = needed.length > 0 ? needed : built.slice(0, 1)
    const [pattern] = Object.values(patternProperties ?? {})
    const others = pattern ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)
    if (fields.length === 0 && others) return { name: this.of(others, depth + 1) }
    return Object.fromEntries(fields.map(([name, schema]) => [name, this.of(schema, depth + 1)]))
  }
}

const isSomething = ({ type, const: only }: Schema): boolean => type !== 'null' && only !== null

function typeOf({ type, properties }: Schema): string {
  if (type === undefined) return properties ? 'object' : 'null'
  return typeof type === 'string' ? type : (type.find((each) => each !== 'null') ?? 'null')
}

function textOf({ format = '', minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Schema): string {
  return (TEXTS[format] ?? 'text').padEnd(minLength, '-').slice(0, maxLength)
}

function numberOf({ minimum = 0, maximum = Number.POSITIVE_INFINITY, multipleOf = 1 }: Schema): number {
  return Math.min(Math.max(minimum, multipleOf), maximum)
}
