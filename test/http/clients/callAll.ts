import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Check } from 'typebox/schema'
import type { Call } from './calls.ts'
import { type Document, type Operation, operationsOf, typescriptClient } from './typescript.ts'

interface Answer {
  status: number
  body: unknown
}
export type Client = Record<string, (args: unknown) => Promise<Answer>>

/** What calls refer to by name. */
type Values = Record<string, unknown>

interface Server {
  readonly base: string
  /** Its documents by name. */
  readonly documents: Readonly<Record<string, Document>>
  readonly authorizationOf: (document: string) => string
  /** What the calls need, and what the answers gave. */
  readonly values: Values
  /** Where the clients are written. */
  readonly folder: string
  /** Called before each call, with its arguments. */
  readonly before?: (call: Call, args: unknown) => Promise<void>
}

/** What does not answer as its document says, and operations without a call. */
interface Called {
  readonly wrong: string[]
  readonly uncalled: string[]
}

/** Makes the calls one after another, with clients in TypeScript that are generated from the documents of a server. */
export async function callAll(calls: readonly Call[], server: Server): Promise<Called> {
  const { base, documents, authorizationOf, values, folder } = server
  const operations = new Map<string, { document: Document; operation: Operation }>()
  for (const [name, document] of Object.entries(documents)) {
    writeFileSync(join(folder, `${name}.ts`), typescriptClient(document))
    for (const { operation } of operationsOf(document)) operations.set(operation.operationId, { document, operation })
  }
  const clients = await clientsFor({ base, documents, authorizationOf, folder })
  const wrong: string[] = []
  for (const call of calls) {
    const args = filled(call.args, values)
    await server.before?.(call, args)
    const answer = await clients[call.operation]?.(args)
    const of = operations.get(call.operation)
    if (answer === undefined || of === undefined) throw new Error(`there is no operation ${call.operation}`)
    wrong.push(...misfits(call, of.operation, of.document, answer))
    if (answer.status < 300)
      for (const [name, path] of Object.entries(call.saves)) values[name] = partOf(answer.body, path)
  }
  return { wrong, uncalled: [...operations.keys()].filter((name) => !calls.some((call) => call.operation === name)) }
}

/** The operations of the clients that were written. */
export async function clientsFor({
  base,
  documents,
  authorizationOf,
  folder,
}: Pick<Server, 'base' | 'documents' | 'authorizationOf' | 'folder'>): Promise<Client> {
  const clients: Client = {}
  for (const name of Object.keys(documents)) {
    const { href } = pathToFileURL(join(folder, `${name}.ts`))
    const made = (await import(href)) as { createClient: (...of: string[]) => Client }
    Object.assign(clients, made.createClient(base, authorizationOf(name)))
  }
  return clients
}

function misfits(
  { operation: name, answer: wanted }: Call,
  of: Operation,
  document: Document,
  { status, body }: Answer,
) {
  const said = JSON.stringify(body)?.slice(0, 300)
  if (!`${status}`.startsWith(wanted)) return [`${name}: status ${status}: ${said}`]
  const described = of.responses[status] ?? of.responses[`${Math.floor(status / 100)}XX`]
  if (described === undefined) return [`${name}: status ${status} is not in the document`]
  const schema = described.content?.['application/json']?.schema
  if (schema === undefined) return body === undefined ? [] : [`${name}: a body is not in the document`]
  return Check(resolved(schema, document) as object, body) ? [] : [`${name}: the body does not fit: ${said}`]
}

/** The schema with what it refers to in place of the references. */
function resolved(schema: unknown, document: Document): unknown {
  if (Array.isArray(schema)) return schema.map((one) => resolved(one, document))
  if (typeof schema !== 'object' || schema === null) return schema
  const { $ref, ...rest } = schema as { $ref?: string }
  if ($ref !== undefined) return resolved(document.components.schemas[$ref.slice($ref.lastIndexOf('/') + 1)], document)
  return Object.fromEntries(Object.entries(rest).map(([name, one]) => [name, resolved(one, document)]))
}

function filled(value: unknown, values: Values): unknown {
  if (typeof value === 'string' && value.startsWith('$')) return values[value.slice(1)]
  if (Array.isArray(value)) return value.map((one) => filled(one, values))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filled(one, values)]))
}

const partOf = (body: unknown, path: string): unknown =>
  path.split('.').reduce((part, step) => (part as Record<string, unknown>)[step], body)
