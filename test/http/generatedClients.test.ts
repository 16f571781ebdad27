import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createAccount } from '../../src/commands/accounts/accounts.ts'
import { createSecret } from '../../src/commands/accounts/secrets.ts'
import { cliActor } from '../../src/commands/context.ts'
import { type ChannelsClient, credential, runChannels } from '../support/channelsClient.ts'
import { callAll, type Client, clientsFor } from './clients/callAll.ts'
import { type Call, CALLS } from './clients/calls.ts'
import { sampleValues } from './clients/sampleValues.ts'
import type { Document } from './clients/typescript.ts'

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
  // No answer needs ffmpeg, and the doctor would try its encoders.
  sluice = await runChannels({
    flags: { ffmpeg: { path: '/nowhere/ffmpeg' }, webhooks: { allowPrivateTargets: true } },
  })
  const { running } = sluice
  const { port } = receiver.address() as AddressInfo
  values = await sampleValues({
    store: running.app.ctx.store,
    accountId: running.accountId,
    receiver: `http://127.0.0.1:${port}/`,
    makeWebhook: async (url) => (await running.call('POST', '/api/webhooks', { url })).json.data.id as number,
  })
  return () => sluice.close()
})
afterAll(() => {
  receiver.close()
  rmSync(folder, { recursive: true })
})

const authorizationOf = (name: string): string =>
  name === 'tokens' ? `Bearer ${sluice.running.secret}` : sluice.authorization

it('a TypeScript client of the documents has valid types, and each operation answers as its document says', async () => {
  const { base } = sluice.running
  const { wrong, uncalled } = await callAll(CALLS, { folder, documents: DOCUMENTS, base, authorizationOf, values })
  await checkTypes()
  expect({ wrong, uncalled }).toEqual({ wrong: [], uncalled: [] })
})

/** Operations that answer a stranger otherwise than with 404: they list or report what is not there, or refuse the body first. */
const OTHERWISE: Readonly<Record<string, number>> = {
  disablePublishTokens: 200,
  enablePublishTokens: 200,
  disableSubscribeTokens: 200,
  enableSubscribeTokens: 200,
  listAccessLog: 200,
  listSchedulers: 200,
  createPull: 400,
  createScheduler: 400,
  setSlate: 415,
}

it('each operation finds nothing by the ids of another account, and changes nothing there', async () => {
  const { base, app } = sluice.running
  const other = await createAccount(app.ctx, 'other')
  if (!other.ok) throw new Error(JSON.stringify(other.error))
  const secret = await createSecret(app.ctx, cliActor(other.value.id), 'other')
  if (!secret.ok) throw new Error(JSON.stringify(secret.error))
  const basic = await credential(sluice.running, 'write', other.value.id)
  const theirs = (name: string): string => (name === 'tokens' ? `Bearer ${secret.value.value}` : basic)
  const at = { folder, documents: DOCUMENTS, base }
  let strangers: Client | null = null
  let asked = 0
  const shown: string[] = []
  const before = async ({ operation, args: named }: Call, args: unknown): Promise<void> => {
    if (!/"\$(?!receiver|region)/.test(JSON.stringify(named))) return
    strangers ??= await clientsFor({ ...at, authorizationOf: theirs })
    const answer = await strangers[operation]?.(args)
    asked += 1
    if (answer?.status !== (OTHERWISE[operation] ?? 404)) shown.push(`${operation}: ${answer?.status}`)
  }
  // With several accounts, what concerns the whole server is for those who operate it.
  const calls = CALLS.filter(
    ({ operation }) => !/Node$|Backup$|Server|Configuration|Examination|Upkeep/.test(operation),
  )
  const { wrong } = await callAll(calls, { ...at, authorizationOf, values, before })
  expect({ shown, wrong }).toEqual({ shown: [], wrong: [] })
  expect(asked).toBeGreaterThan(90)
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
