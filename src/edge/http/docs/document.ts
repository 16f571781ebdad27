/** What the pages show of a JSON Schema. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly format?: string
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly multipleOf?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  /** Why values other than nothing are refused. */
  readonly 'x-not-built'?: string
}

export type Schemas = Readonly<Record<string, Schema>>

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly example?: unknown
  readonly schema: Schema
}

interface Media {
  readonly schema?: Schema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly value?: unknown }>>
}

export type Content = Readonly<Record<string, Media>>

export interface Answer {
  readonly description?: string
  readonly content?: Content
  readonly headers?: Readonly<Record<string, { readonly description?: string }>>
}

interface Described {
  readonly operationId: string
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly deprecated?: boolean
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content?: Content }
  readonly responses: Readonly<Record<string, Answer>>
}

export interface Operation {
  /** Unique in both documents. */
  readonly id: string
  /** In capitals. */
  readonly method: string
  /** With parameters in braces. */
  readonly path: string
  readonly summary: string
  readonly tag: string
  readonly isDeprecated: boolean
  readonly parameters: readonly Parameter[]
  readonly body: Content | null
  readonly answers: Readonly<Record<string, Answer>>
}

/** An OpenAPI document, as the pages show it. */
export interface ApiDocument {
  readonly title: string
  readonly version: string
  readonly description: string
  /** How requests authenticate: `bearer` or `basic`. */
  readonly scheme: string
  readonly operations: readonly Operation[]
  readonly schemas: Schemas
}

interface OpenApi {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components?: {
    readonly schemas?: Schemas
    readonly securitySchemes?: Readonly<Record<string, { readonly scheme?: string }>>
  }
}

/** @param document one that Sluice itself made */
export function readDocument(document: unknown): ApiDocument {
  const { info, paths = {}, components = {} } = document as OpenApi
  const [security] = Object.values(components.securitySchemes ?? {})
  return {
    title: info.title,
    version: info.version,
    description: info.description ?? '',
    scheme: security?.scheme ?? 'bearer',
    operations: Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, described]) => operationOf(path, method, described)),
    ),
    schemas: components.schemas ?? {},
  }
}

function operationOf(path: string, method: string, described: Described): Operation {
  return {
    id: described.operationId,
    method: method.toUpperCase(),
    path,
    summary: described.summary ?? described.operationId,
    tag: described.tags?.[0] ?? '',
    isDeprecated: described.deprecated === true,
    parameters: described.parameters ?? [],
    body: described.requestBody?.content ?? null,
    answers: described.responses,
  }
}

/** Operations by their tags, both in the order of the document. */
export function byTag(operations: readonly Operation[]): readonly (readonly [string, readonly Operation[]])[] {
  return [...Map.groupBy(operations, ({ tag }) => tag)]
}

/** The schema itself, where it is named. */
export function resolved(schema: Schema, schemas: Schemas): Schema {
  const name = schema.$ref?.split('/').at(-1)
  return name === undefined ? schema : (schemas[name] ?? {})
}
