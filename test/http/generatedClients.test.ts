import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { Check } from 'typebox/schema'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { timeOrderedId } from '../../src/base/ids.ts'
import { systemRandom } from '../../src/base/random.ts'
import { newRecording } from '../conformance/store.recordings.ts'
import { newSession } from '../conformance/store.samples.ts'
import { type ChannelsClient, runChannels } from '../support/channelsClient.ts'
import { type Call, CALLS } from './clients/calls.ts'
import { type Document, type Operation, operationsOf, typescriptClient } from './clients/typescript.ts'

const documentOf = (name: string): Document =>
  JSON.parse(readFileSync(new URL(`../../api/${name}.openapi.json`, import.meta.url), 'utf8')) as Document
const DOCUMENTS = { tokens: documentOf('tokens'), channels: documentOf('channels') }
const python = spawnSync('python3', ['--version']).status === 0

let sluice: ChannelsClient
let receiver: Server
let folder: string
let values: Record<string, unknown>

beforeAll(async () => {
  receiver = createServer((_request, response) => response.end()).listen(0, '127.0.0.1')
  folder = mkdtempSync(join(tmpdir(), 'sluice-clients-'))
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
})
beforeEach(async () => {
  sluice = await runChannels({
    // No answer needs ffmpeg, and the doctor would try its encoders.
    flags: { webhooks: { allowPrivateTargets: true }, ffmpeg: { path: '/nowhere/ffmpeg' } },
  })
  const { accountId } = sluice.running
  const { store } = sluice.running.app.ctx
  await store.transaction((tx) => tx.sessions.insert(newSession({ accountId }), 'another node'))
  await store.transaction((tx) => tx.recordings.insert(newRecording({ accountId, state: 'completed' })))
  const { port } = receiver.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/`
  values = { receiver: url, stream: `${accountId}/show`, logged: await webhookWithLog(url) }
  return () => sluice.close()
})
afterAll(() => {
  receiver.close()
  rmSync(folder, { recursive: true })
})

/** A webhook with a delivery that was skipped. */
async function webhookWithLog(url: string): Promise<number> {
  const { accountId, app } = sluice.running
  const { id: webhookId } = (await sluice.running.call('POST', '/api/webhooks', { url })).json.data
  const id = timeOrderedId(Date.now(), systemRandom)
  const event = { type: 'feeds', event: 'started', subject: 'show', data: '{}', createdAtMs: Date.now() }
  const row = { id, eventId: id, webhookId, accountId, ...event, state: 'skipped' as const, error: 'paused' }
  await app.ctx.store.transaction((tx) => tx.deliveries.insert([row]))
  return webhookId
}

const authorizationOf = (name: string): string =>
  name === 'tokens' ? `Bearer ${sluice.running.secret}` : sluice.authorization

interface Answer {
  status: number
  body: unknown
}
type Client = Record<string, (args: unknown) => Promise<Answer>>

it('a TypeScript client of the documents has valid types, and each operation answers as its document says', async () => {
  const clients: Client = {}
  const operations = new Map<string, { document: Document; operation: Operation }>()
  for (const [name, document] of Object.entries(DOCUMENTS)) {
    const file = join(folder, `${name}.ts`)
    writeFileSync(file, typescriptClient(document))
    const made = (await import(pathToFileURL(file).href)) as { createClient: (...of: string[]) => Client }
    Object.assign(clients, made.createClient(sluice.running.base, authorizationOf(name)))
    for (const { operation } of operationsOf(document)) operations.set(operation.operationId, { document, operation })
  }
  await checkTypes()
  const wrong: string[] = []
  for (const call of CALLS) {
    const answer = await clients[call.operation]?.(filled(call.args))
    const of = operations.get(call.operation)
    if (answer === undefined || of === undefined) throw new Error(`there is no operation ${call.operation}`)
    wrong.push(...misfits(call, of.operation, of.document, answer))
    if (answer.status < 300)
      for (const [name, path] of Object.entries(call.saves)) values[name] = partOf(answer.body, path)
  }
  expect(wrong).toEqual([])
  expect([...operations.keys()].filter((name) => !CALLS.some(({ operation }) => operation === name))).toEqual([])
})

it.skipIf(!python)('a Python client of the documents gets from each operation what its document says', async () => {
  const script = fileURLToPath(new URL('clients/client.py', import.meta.url))
  const documents = Object.entries(DOCUMENTS).map(([name, document]) => ({
    document,
    authorization: authorizationOf(name),
  }))
  const child = execFile('python3', [script], { maxBuffer: 16_000_000 }, () => undefined)
  child.stdin?.end(JSON.stringify({ base: sluice.running.base, documents, calls: CALLS, values }))
  let [said, complained] = ['', '']
  child.stdout?.on('data', (text: string) => (said += text))
  child.stderr?.on('data', (text: string) => (complained += text))
  await new Promise((resolve) => child.on('close', resolve))
  expect(complained).toBe('')
  expect(JSON.parse(said)).toEqual({ wrong: [], uncalled: [] })
})

/** A use of the client that its types must allow, and one that they must refuse. */
const USES = `
import { createClient } from './tokens.ts'
const client = createClient('', '')
const made = await client.createPublishToken({ body: { label: 'a', streams: [{ streamName: 'show' }] } })
export const id: number | undefined = made.body?.data.id
// @ts-expect-error: a label is required
await client.createPublishToken({ body: { streams: [] } })
`

async function checkTypes(): Promise<void> {
  writeFileSync(join(folder, 'uses.ts'), USES)
  const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  const flags =
    '--noEmit --strict --ignoreConfig --target esnext --module nodenext --allowImportingTsExtensions --lib esnext,dom --types'
  const files = ['tokens.ts', 'channels.ts', 'uses.ts'].map((name) => join(folder, name))
  const checked = promisify(execFile)(process.execPath, [compiler, ...flags.split(' '), '', ...files])
  const output = await checked.then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  )
  expect(output).toBe('')
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

function filled(value: unknown): unknown {
  if (typeof value === 'string' && value.startsWith('$')) return values[value.slice(1)]
  if (Array.isArray(value)) return value.map(filled)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filled(one)]))
}

const partOf = (body: unknown, path: string): unknown =>
  path.split('.').reduce((part, step) => (part as Record<string, unknown>)[step], body)
