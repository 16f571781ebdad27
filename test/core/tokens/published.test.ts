import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { DisableTokens, ListByNameQuery, ListQuery, RevokeSelfSigned } from '../../../src/core/tokens/requestSchema.ts'
import { TOKEN_SCHEMAS } from '../../../src/core/tokens/schema.ts'

interface Parameter {
  name: string
  in: string
  required: boolean
  description?: string
  schema: object
}
interface Operation {
  parameters?: Parameter[]
  requestBody?: {
    content: {
      'application/json': { schema: object; example?: unknown; examples?: Record<string, { value: unknown }> }
    }
  }
}

const { components, paths } = JSON.parse(
  readFileSync(new URL('../../../api/tokens.openapi.json', import.meta.url), 'utf8'),
) as { components: { schemas: Record<string, object> }; paths: Record<string, Record<string, Operation>> }

/** A schema as the document writes it: references have the path of a component, and a constant is a list of one. */
function asPublished(schema: object): object {
  const text = JSON.stringify(schema, (key, value: unknown) => (key === '$id' ? undefined : value))
  return JSON.parse(
    text
      .replaceAll(/"\$ref":"(\w+)#"/g, '"$ref":"#/components/schemas/$1"')
      .replaceAll(/"const":("[^"]*"|\w+)/g, '"enum":[$1]'),
  ) as object
}

test.each(TOKEN_SCHEMAS.map((schema) => [String((schema as { $id?: string }).$id), schema] as const))(
  'the API document publishes %s as requests and answers are checked',
  (id, schema) => expect(asPublished(schema)).toEqual(components.schemas[id]),
)

test.each([
  ['/api/publish_token/list', ListQuery],
  ['/api/subscribe_token/list_by_name', ListByNameQuery],
])('the API document publishes the query of %s as it is checked', (path, query) => {
  const published = paths[path]?.['get']?.parameters?.filter((one) => one.in === 'query') ?? []
  const properties = published.map(({ name, description, schema }) => [name, { ...schema, description }] as const)
  const required = published.filter((one) => one.required).map(({ name }) => name)
  expect({ required: [], ...asPublished(query) }).toEqual({
    type: 'object',
    required,
    properties: Object.fromEntries(properties),
    additionalProperties: false,
  })
})

test.each([
  ['/api/publish_token/disable', 'patch', DisableTokens],
  ['/api/subscribe_token/{tokenId}/revoke', 'post', RevokeSelfSigned],
] as const)('the API document publishes the body of %s as it is checked', (path, method, schema) => {
  const body = paths[path]?.[method]?.requestBody?.content['application/json']
  const examples =
    body?.example === undefined ? Object.values(body?.examples ?? {}).map(({ value }) => value) : [body.example]
  expect(asPublished(schema)).toEqual({ ...body?.schema, examples })
})
