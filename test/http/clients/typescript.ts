/** A JSON schema, as far as the documents use it. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required?: boolean
  readonly schema: Schema
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>

export interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** Every operation with its method and path. */
export const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )

/** A client in TypeScript with a typed function for each operation, under its `operationId`. */
export function typescriptClient(document: Document): string {
  const operations = operationsOf(document)
  const routes = operations.map(({ method, path, operation }) => {
    const query = (operation.parameters ?? []).flatMap((one) => (one.in === 'query' ? [one.name] : []))
    return `  ${operation.operationId}: ${JSON.stringify({ method, path, query })},`
  })
  return [
    ...Object.entries(document.components.schemas).map(([name, of]) => `export type ${nameOf(name)} = ${typeOf(of)}`),
    'export interface Operations {',
    ...operations.map(({ operation }) => `  ${operation.operationId}: ${signatureOf(operation)}`),
    '}',
    `const ROUTES = {\n${routes.join('\n')}\n}`,
    CLIENT,
  ].join('\n')
}

function signatureOf({ parameters = [], requestBody, responses }: Operation): string {
  const fields = parameters.map((one) => `${one.name}${one.required ? '' : '?'}: ${typeOf(one.schema)}`)
  const body = requestBody?.content['application/json']?.schema
  if (body) fields.push(`body${requestBody.required ? '' : '?'}: ${typeOf(body)}`)
  const answer = responses['200']?.content?.['application/json']?.schema
  return `{ args: { ${fields.join('; ')} }; answer: ${answer ? typeOf(answer) : 'undefined'} }`
}

function typeOf(schema: Schema): string {
  const { $ref, enum: words, anyOf, type, items } = schema
  if ($ref !== undefined) return nameOf($ref.slice($ref.lastIndexOf('/') + 1))
  if (words) return words.map((word) => JSON.stringify(word)).join(' | ')
  if (anyOf) return anyOf.map((one) => `(${typeOf(one)})`).join(' | ')
  if (typeof type === 'object') return type.map((one) => typeOf({ ...schema, type: one })).join(' | ')
  if (type === 'array') return `(${items ? typeOf(items) : 'unknown'})[]`
  if (type === 'object') return objectType(schema)
  if (type === 'integer') return 'number'
  return type ?? 'unknown'
}

function objectType({ properties = {}, required = [], additionalProperties }: Schema): string {
  const fields = Object.entries(properties).map(
    ([name, of]) => `${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(of)}`,
  )
  const others = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown'
  return fields.length > 0 ? `{ ${fields.join('; ')} }` : `Record<string, ${others}>`
}

const nameOf = (name: string): string => name.replaceAll(/\W/g, '_')

const CLIENT = `
export type Client = {
  readonly [K in keyof Operations]: (
    args: Operations[K]['args'],
  ) => Promise<{ status: number; body: Operations[K]['answer'] | undefined }>
}

export function createClient(base: string, authorization: string): Client {
  const entries = Object.entries(ROUTES).map(([name, route]) => [
    name,
    async (args: Record<string, unknown>) => {
      const path = route.path.replaceAll(/\\{(\\w+)\\}/g, (_: string, part: string) => encodeURIComponent(String(args[part])))
      const query = new URLSearchParams()
      for (const one of route.query as string[])
        for (const value of [args[one]].flat()) if (value !== undefined) query.append(one, String(value))
      const json = args['body'] === undefined ? {} : { 'content-type': 'application/json' }
      const answer = await fetch(base + path + '?' + query, {
        method: route.method,
        headers: { authorization, ...json } as Record<string, string>,
        ...(args['body'] === undefined ? {} : { body: JSON.stringify(args['body']) }),
      })
      const text = await answer.text()
      return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
    },
  ])
  return Object.fromEntries(entries)
}
`
