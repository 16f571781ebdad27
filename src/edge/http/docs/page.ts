/** The part of an OpenAPI document that the page reads. */
interface OpenApi {
  info?: { title?: string; version?: string; description?: string }
  paths?: Record<string, unknown>
  components?: { schemas?: Record<string, Schema> }
}

interface Schema {
  $ref?: string
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  enum?: unknown[]
  anyOf?: Schema[]
  description?: string
  default?: unknown
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
}

interface Operation {
  summary?: string
  tags?: string[]
  deprecated?: boolean
  parameters?: { name: string; in: string; required?: boolean; schema?: Schema; description?: string }[]
  requestBody?: { content?: Record<string, { schema?: Schema }> }
  responses?: Record<string, { content?: Record<string, { schema?: Schema }> }>
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

/** A page that people can read, without scripts and without fetching anything, made from the OpenAPI document. */
export function renderDocs(document: unknown): string {
  const { info = {}, paths: referring = {}, components } = document as OpenApi
  const paths = withoutReferences(referring, components?.schemas ?? {}) as typeof referring
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = (item as Partial<Record<string, Operation>>)[method]
      return operation ? [{ method, path, operation }] : []
    }),
  )
  const tags = [...new Set(operations.map((o) => o.operation.tags?.[0] ?? 'other'))]
  const sections = tags.map(
    (tag) =>
      `<h2>${escape(tag)}</h2>` +
      operations
        .filter((o) => (o.operation.tags?.[0] ?? 'other') === tag)
        .map(renderOperation)
        .join(''),
  )
  const title = escape(info.title ?? 'API')
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>${STYLE}</style></head><body>
<main><h1>${title} <small>${escape(info.version ?? '')}</small></h1><p>${escape(info.description ?? '')}
Every request carries <code>Authorization: Bearer &lt;API secret&gt;</code>; make one with
<code>sluice secret create --name NAME</code>. The same as a machine reads it: <a href="/api/openapi.json">openapi.json</a>.</p>
${sections.join('')}</main></body></html>`
}

function renderOperation(entry: { method: string; path: string; operation: Operation }): string {
  const { method, path, operation } = entry
  const body = operation.requestBody?.content?.['application/json']?.schema
  const answer = operation.responses?.['200']?.content?.['application/json']?.schema
  const parameters = operation.parameters ?? []
  return `<details><summary><b class="${method}">${method.toUpperCase()}</b> <code>${escape(path)}</code>
 ${escape(operation.summary ?? '')}${operation.deprecated ? ' <i>older path</i>' : ''}</summary>
${parameters.length > 0 ? `<h3>Parameters</h3>${renderParameters(parameters)}` : ''}
${body ? `<h3>Body</h3>${renderSchema(body)}` : ''}
${answer ? `<h3>Answer</h3>${renderSchema(answer)}` : ''}</details>`
}

const renderParameters = (parameters: NonNullable<Operation['parameters']>): string =>
  table(parameters.map((p) => row(p.name, p.schema ?? {}, p.required ?? false, p.in)))

/** The same with every `#/components/schemas/…` replaced by what it refers to; our schemas do not refer in circles. */
function withoutReferences(value: unknown, schemas: Record<string, Schema>): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutReferences(item, schemas))
  if (typeof value !== 'object' || value === null) return value
  const name = '$ref' in value && typeof value.$ref === 'string' ? value.$ref.split('/').at(-1) : undefined
  const target = name === undefined ? undefined : schemas[name]
  if (target) return withoutReferences(target, schemas)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutReferences(item, schemas)]))
}

/** The rows of an object, its nested objects and arrays flattened into dotted names. */
function renderSchema(schema: Schema): string {
  return table(flatten('', schema, true, 0))
}

const DEPTH_MAX = 5

function flatten(name: string, schema: Schema, required: boolean, depth: number): string[] {
  const own = name === '' ? [] : [row(name, schema, required)]
  if (depth >= DEPTH_MAX) return own
  const object = schema.type === 'array' ? schema.items : schema
  const prefix = schema.type === 'array' ? `${name}[]` : name
  const inner = Object.entries(object?.properties ?? {}).flatMap(([key, value]) =>
    flatten(prefix === '' ? key : `${prefix}.${key}`, value, object?.required?.includes(key) ?? false, depth + 1),
  )
  return [...own, ...inner]
}

function row(name: string, schema: Schema, required: boolean, place = ''): string {
  return `<tr><td><code>${escape(name)}</code>${required ? ' <i>required</i>' : ''}${place === 'path' ? ' <i>path</i>' : ''}</td>
<td>${escape(typeOf(schema))}</td><td>${escape([schema.description ?? '', limits(schema)].filter(Boolean).join(' '))}</td></tr>`
}

const table = (rows: string[]): string => `<table>${rows.join('')}</table>`

function typeOf(schema: Schema): string {
  if (schema.enum) return schema.enum.map(String).join(' | ')
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ')
  if (schema.type === 'array') return `array of ${schema.items ? typeOf(schema.items) : 'anything'}`
  return [schema.type ?? 'anything'].flat().join(' | ')
}

function limits(schema: Schema): string {
  const range = (low: number | undefined, high: number | undefined, unit: string): string[] =>
    low === undefined && high === undefined ? [] : [`${low ?? 0} to ${high ?? '…'}${unit}`]
  return [
    ...range(schema.minimum, schema.maximum, ''),
    ...range(schema.minLength, schema.maxLength, ' characters'),
    ...range(schema.minItems, schema.maxItems, ' items'),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
  ].join(', ')
}

const escape = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c] ?? c)

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;margin:0;color:#1c2430;background:#fff}
main{max-width:60rem;margin:0 auto;padding:1.5rem}
h1 small{font-weight:400;color:#667}h2{margin:2rem 0 .5rem}h3{margin:.8rem 0 .2rem;font-size:1rem}
details{border:1px solid #d8dee8;border-radius:6px;margin:.4rem 0;padding:.5rem .8rem}summary{cursor:pointer}

code{font:14px ui-monospace,monospace}b{display:inline-block;min-width:4.2rem;font:600 13px ui-monospace,monospace;color:#0a58a8}
b.delete{color:#b3261e}b.post{color:#1a7f37}b.put,b.patch{color:#8a5a00}i{color:#667;font-size:.85em}
table{border-collapse:collapse;width:100%;margin:.2rem 0 .6rem}td{border-top:1px solid #e6eaf0;padding:.25rem .5rem;vertical-align:top}
td:first-child{width:34%}
td:nth-child(2){width:22%;color:#445}`
