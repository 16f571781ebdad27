import { type ApiDocument, byTag, type Operation } from './document.ts'
import { bodyExample, parameterExample } from './example.ts'
import { SAMPLE_SERVER } from './samples.ts'

const SCHEMA = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json'

/** Every operation as a Postman collection (format 2.1): a folder for each interface, with one for each tag. */
export function postmanCollection(documents: readonly ApiDocument[]): unknown {
  return {
    info: { name: `Sluice ${documents[0]?.version ?? ''}`, schema: SCHEMA },
    variable: [
      { key: 'server', value: SAMPLE_SERVER },
      { key: 'secret', value: '', type: 'secret' },
      { key: 'credentialKey', value: '' },
      { key: 'credentialSecret', value: '', type: 'secret' },
    ],
    item: documents.map((document) => ({
      name: document.title,
      auth: authOf(document),
      item: byTag(document.operations).map(([tag, members]) => ({
        name: tag,
        item: members.map((operation) => itemOf(operation, document)),
      })),
    })),
  }
}

function authOf({ scheme }: ApiDocument): unknown {
  if (scheme !== 'basic') return { type: 'bearer', bearer: [{ key: 'token', value: '{{secret}}', type: 'string' }] }
  const basic = [
    { key: 'username', value: '{{credentialKey}}', type: 'string' },
    { key: 'password', value: '{{credentialSecret}}', type: 'string' },
  ]
  return { type: 'basic', basic }
}

function itemOf(operation: Operation, document: ApiDocument): unknown {
  const { method, path, summary, parameters, body } = operation
  const segments = path.slice(1).replaceAll(/\{(\w+)\}/g, ':$1')
  const query = parameters.filter((parameter) => parameter.in === 'query')
  const url = {
    raw: `{{server}}/${segments}`,
    host: ['{{server}}'],
    path: segments.split('/'),
    variable: parameters
      .filter((parameter) => parameter.in === 'path')
      .map((parameter) => ({ key: parameter.name, value: String(parameterExample(parameter)) })),
    query: query.map((parameter) => ({
      key: parameter.name,
      value: String(parameterExample(parameter)),
      description: parameter.description ?? '',
      disabled: parameter.required !== true,
    })),
  }
  return { name: summary, request: { method, url, header: [], ...bodyOf(body, document) } }
}

function bodyOf(body: Operation['body'], { schemas }: ApiDocument): object {
  if (body === null) return {}
  if (body['application/json'] === undefined) return { body: { mode: 'file' } }
  const raw = JSON.stringify(bodyExample(body, schemas), null, 2)
  return { body: { mode: 'raw', raw, options: { raw: { language: 'json' } } } }
}
