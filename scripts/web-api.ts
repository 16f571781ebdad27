// Writes build/web-api/*.ts, the dashboard's typed operations, from the committed OpenAPI documents.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly nullable?: boolean
  readonly description?: string
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly schema: Schema
}

interface Operation {
  readonly operationId?: string
  readonly summary?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content?: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> }
}

function moduleOf({ paths, components }: Document): string {
  const schemas = Object.entries(components?.schemas ?? {})
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationOf(path, method, operation)),
  )
  return [
    '// Generated from the OpenAPI document of the same name.',
    "import type { Operation } from '../../web/dashboard/src/api/call.ts'",
    '',
    '/** What an operation answers. */',
    'export type Answer<O> = O extends { readonly types?: { readonly answer: infer D } } ? D : never',
    '/** What an operation takes. */',
    'export type Args<O> = O extends { readonly types?: { readonly args: infer A } } ? A : never',
    '',
    ...schemas.map(([name, schema]) => `export type ${nameOf(name)} = ${typeOf(schema)}\n`),
    ...operations,
  ].join('\n')
}

function operationOf(path: string, method: string, operation: Operation): string {
  const { operationId, summary = '', parameters = [], requestBody, responses } = operation
  if (operationId === undefined) throw new Error(`${method} ${path} has no operationId`)
  const parts = [
    given(
      'path',
      parameters.filter((one) => one.in === 'path'),
      false,
    ),
    given(
      'query',
      parameters.filter((one) => one.in === 'query'),
      true,
    ),
    bodyOf(requestBody?.content),
  ]
  const answer = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content?.['application/json']
    ?.schema
  const data = answer?.properties?.['data'] ?? answer
  const envelope = answer?.properties?.['data'] ? 'data' : 'plain'
  const under = path.replace(/^\/dashboard\/api\/|^\/api\/|^\//, '')
  return [
    `/** ${summary.replaceAll('*/', '* /')} */`,
    `export const ${operationId}: Operation<{ ${parts.filter(Boolean).join('; ')} }, ${data ? typeOf(data) : 'undefined'}> =`,
    `  { method: '${method.toUpperCase()}', path: '${under}', envelope: '${envelope}' }`,
    '',
  ].join('\n')
}

function given(place: string, parameters: readonly Parameter[], isOptional: boolean): string {
  if (parameters.length === 0) return ''
  const all = parameters.map(
    ({ name, required, schema }) =>
      `${key(name)}${required ? '' : '?'}: ${typeOf(schema)} ${required ? '' : '| undefined'}`,
  )
  const needed = !isOptional || parameters.some(({ required }) => required)
  return `${place}${needed ? '' : '?'}: { ${all.join('; ')} }`
}

/** A body is JSON, or a file. */
function bodyOf(content: Content | undefined): string {
  if (content === undefined) return ''
  const schema = content['application/json']?.schema
  return schema ? `body: ${typeOf(schema)}` : 'file: Blob'
}

function typeOf(schema: Schema): string {
  const one = plainTypeOf(schema)
  return schema.nullable ? `(${one} | null)` : one
}

function plainTypeOf(schema: Schema): string {
  if (schema.$ref) return nameOf(schema.$ref.split('/').at(-1) ?? '')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return `(${schema.enum.map((value) => JSON.stringify(value)).join(' | ')})`
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return `(${choices.map(typeOf).join(' | ')})`
  if (schema.allOf) return `(${schema.allOf.map(typeOf).join(' & ')})`
  if (Array.isArray(schema.type)) return `(${schema.type.map((type) => typeOf({ ...schema, type })).join(' | ')})`
  return kindOf(schema.type, schema)
}

function kindOf(type: string | readonly string[] | undefined, schema: Schema): string {
  switch (type) {
    case undefined:
      return 'unknown'
    case 'array':
      return `readonly ${elementOf(schema.items)}[]`
    case 'object':
      return objectOf(schema)
    case 'integer':
    case 'number':
      return 'number'
    case 'string':
    case 'boolean':
    case 'null':
      return type
    default:
      return 'unknown'
  }
}

function elementOf(items: Schema | undefined): string {
  const element = items ? typeOf(items) : 'unknown'
  return element.startsWith('readonly ') ? `(${element})` : element
}

function objectOf({ properties, required = [], additionalProperties, patternProperties }: Schema): string {
  const own = Object.entries(properties ?? {}).map(
    ([name, schema]) =>
      `${key(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}${required.includes(name) ? '' : ' | undefined'}`,
  )
  const others =
    Object.values(patternProperties ?? {})[0] ??
    (typeof additionalProperties === 'object' ? additionalProperties : undefined)
  const record = others ? `Record<string, ${typeOf(others)}>` : ''
  if (own.length === 0) return record || 'Record<string, unknown>'
  return record ? `({ ${own.join('; ')} } & ${record})` : `{ ${own.join('; ')} }`
}

const key = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name))

const nameOf = (name: string): string => name.replace(/\W/g, '_')

const root = new URL('../', import.meta.url)
const out = new URL('build/web-api/', root)
mkdirSync(out, { recursive: true })
for (const file of readdirSync(new URL('api/', root)).filter((name) => name.endsWith('.openapi.json'))) {
  const document = JSON.parse(readFileSync(new URL(`api/${file}`, root), 'utf8')) as Document
  writeFileSync(new URL(`${file.replace('.openapi.json', '')}.ts`, out), moduleOf(document))
}
