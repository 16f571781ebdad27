import { resolved, type Parameter, type Schema, type Schemas } from './document.ts'
import { described, html, type Html } from './html.ts'

/** Deeper fields are in the OpenAPI document; the bound ends schemas that contain themselves. */
const DEPTH_MAX = 6

/** The fields of a JSON value, with those of the objects in them. Of what clients send it says which are required. */
export function schemaFields(named: Schema, schemas: Schemas, direction: 'sent' | 'answered', depth = 0): Html {
  const schema = inner(named, schemas)
  const fields = Object.entries(schema.properties ?? {}).toSorted(([, a], [, b]) => order(a) - order(b))
  if (fields.length === 0 || depth > DEPTH_MAX) return html``
  const items = fields.map(([name, field]) => {
    const isRequired = direction === 'sent' && schema.required?.includes(name) === true
    return html`<li>${fieldHead(name, field, isRequired, schemas)}${nested(name, schemaFields(field, schemas, direction, depth + 1))}</li>\n`
  })
  return html`<ul class="fields">\n${items}</ul>`
}

/** The parameters in a path or a query. */
export function parameterFields(parameters: readonly Parameter[], schemas: Schemas): Html {
  const items = parameters.map(({ name, schema, description, required = false }) => {
    const text = description ?? schema.description
    return html`<li>${fieldHead(name, { ...schema, ...(text ? { description: text } : {}) }, required, schemas)}</li>\n`
  })
  return html`<ul class="fields">\n${items}</ul>`
}

/** What is not built comes last. */
const order = (schema: Schema): number => (schema['x-not-built'] === undefined ? 0 : 1)

function fieldHead(name: string, field: Schema, isRequired: boolean, schemas: Schemas): Html {
  const schema = resolved(field, schemas)
  const needed = isRequired ? html` <strong>required</strong>` : null
  const text = [schema.description, limitsOf(chosen(schema, schemas))].filter(Boolean).join(' ')
  return html`<code>${name}</code> <span class="type">${typeName(schema, schemas)}</span>${needed}${
    text === '' ? null : html`<p>${described(text)}</p>`
  }`
}

const nested = (name: string, fields: Html): Html | null =>
  fields.text === '' ? null : html`<details><summary>Fields of ${name}</summary>${fields}</details>`

/** The schema of the object, of the items, or of the values. */
function inner(named: Schema, schemas: Schemas): Schema {
  const schema = chosen(named, schemas)
  const values = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined
  const next = schema.items ?? Object.values(schema.patternProperties ?? {})[0] ?? values
  return next && !schema.properties ? inner(next, schemas) : schema
}

/** The first choice that is not null; without choices the schema itself. */
function chosen(named: Schema, schemas: Schemas): Schema {
  const schema = resolved(named, schemas)
  const choice = (schema.anyOf ?? schema.oneOf ?? schema.allOf)?.find(({ type }) => type !== 'null')
  return choice && !schema.properties ? chosen(choice, schemas) : schema
}

function typeName(named: Schema, schemas: Schemas): string {
  const schema = resolved(named, schemas)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return [...new Set(choices.map((choice) => typeName(choice, schemas)))].join(' or ')
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.type === 'array') return `array of ${typeName(schema.items ?? {}, schemas)}`
  const type = [schema.type ?? (schema.properties ? 'object' : 'any')].flat().join(' or ')
  return schema.format ? `${type}, ${schema.format}` : type
}

function limitsOf(schema: Schema): string {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern } = schema
  return [
    range(minimum, maximum, ''),
    range(minLength || undefined, maxLength, ' characters'),
    range(minItems, maxItems, ' items'),
    pattern === undefined ? '' : `Matches \`${pattern}\`.`,
    schema.default === undefined ? '' : `Default: \`${JSON.stringify(schema.default)}\`.`,
  ]
    .filter(Boolean)
    .join(' ')
}

/** Of 32 bits: no limit that matters to anyone. */
const isLimit = (value: number | undefined): value is number => value !== undefined && Math.abs(value) < 2 ** 31 - 1

function range(least: number | undefined, most: number | undefined, what: string): string {
  if (isLimit(least) && isLimit(most)) return `From ${least} to ${most}${what}.`
  if (isLimit(most)) return `At most ${most}${what}.`
  return isLimit(least) ? `At least ${least}${what}.` : ''
}
