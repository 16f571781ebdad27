import { execFile, execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { addWideMigration, removeLaterMigration } from '../conformance/store.later.ts'
import { quiet } from '../conformance/store.samples.ts'
import { callAll } from '../http/clients/callAll.ts'
import type { Call } from '../http/clients/calls.ts'
import { sampleValues } from '../http/clients/sampleValues.ts'
import type { Document } from '../http/clients/typescript.ts'
import { pushSource } from '../hls/sources.ts'
import { endChildren } from '../support/channels.ts'
import { ownPort } from '../support/ownPort.ts'
import { newPlace } from '../support/place.ts'
import { builtProgram } from '../support/program.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { until } from '../support/until.ts'
import { endServers, newDirectory, serve, type Served } from './cliProcess.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'sluice-migration-'))
afterAll(() => {
  endChildren()
  endServers()
  rmSync(folder, { recursive: true })
})

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()

/** The commit before the newest migration; null: there is only the first, or this clone lacks that part of the history. */
function commitBefore(): string | null {
  const migrations = 'src/store/migrations'
  const newest = readdirSync(join(ROOT, migrations))
    .filter((name) => /^\d{4}_/.test(name) && !name.startsWith('0001_'))
    .toSorted()
    .at(-1)
  if (newest === undefined) return null
  try {
    const added = git('log', '-1', '--diff-filter=A', '--format=%H', '--', `${migrations}/${newest}`)
    // One that is not committed yet.
    if (added === '') return git('rev-parse', 'HEAD')
    return git('rev-parse', '--verify', `${added}^`)
  } catch {
    return null
  }
}

/** The sources of a commit, with the packages and what is built of this one. */
function sourcesOf(commit: string): string {
  const at = join(folder, 'before')
  mkdirSync(at)
  const tar = join(folder, 'before.tar')
  git('archive', '--output', tar, commit)
  execFileSync('tar', ['-xf', tar, '-C', at])
  for (const name of ['node_modules', 'build'])
    if (!existsSync(join(at, name))) symlinkSync(join(ROOT, name), join(at, name))
  return at
}

/** PostgreSQL has backups of its own, and what an engine measures is told by the node that runs it, which may be the other one. */
const NOT_HERE = [
  'createBackup',
  'readEngineMonitoring',
  'listEngineMonitoring',
  'readIngestMonitoring',
  'listIngestMonitoring',
]
/** No stream that the calls name: one that was on the air has a history. */
const STREAM = 'upgraded'

interface Version {
  /** Its program, as sources; absent: what is built of those here, which starts in a third of the processor time. */
  readonly main?: string
  readonly documents: Readonly<Record<string, Document>>
  /** Calls of all operations of its interface. */
  readonly calls: readonly Call[]
}

async function versionOf(root: string): Promise<Version> {
  const documentOf = (name: string) =>
    JSON.parse(readFileSync(join(root, 'api', `${name}.openapi.json`), 'utf8')) as Document
  const file = pathToFileURL(join(root, 'test/http/clients/calls.ts')).href
  const { CALLS: calls } = (await import(file)) as { CALLS: readonly Call[] }
  return { documents: { tokens: documentOf('tokens'), channels: documentOf('channels') }, calls }
}

/**
 * The newest migration is what parts the two. Where it is the first one, or its history is missing, the later version is this
 * one with another migration.
 */
async function versions(): Promise<{ earlier: Version; later: Version }> {
  const commit = commitBefore()
  const own = await versionOf(ROOT)
  if (commit !== null) {
    const before = sourcesOf(commit)
    return { earlier: { ...(await versionOf(before)), main: join(before, 'src/main.ts') }, later: own }
  }
  // This process opens the database as well, and runs other tests afterwards.
  addWideMigration()
  onTestFinished(() => void removeLaterMigration())
  return { earlier: own, later: { ...own, main: join(ROOT, 'test/system/laterVersion.ts') } }
}

test('a version goes on beside the next one on a database that the next one has migrated', async () => {
  const { earlier, later } = await versions()
  const place = await newPlace('PostgreSQL')
  onTestFinished(() => place.remove())
  const env = { SLUICE_STORAGE_URL: place.url, SLUICE_SECRETS_SEALING_KEY: SEALING_KEY }
  const before = await node(env, earlier)
  const receiver = createServer((request, response) => void request.resume().on('end', () => response.end()))
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void receiver.close())
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  const uses = async ({ documents, calls }: Version, at: Served, name: string, access: Access) => {
    const { accountId, secret, credential } = access
    const store = await openStore({ url: place.url, log: quiet })
    const authorization = `Bearer ${secret}`
    const makeWebhook = async (to: string): Promise<number> => {
      const headers = { authorization, 'content-type': 'application/json' }
      const body = JSON.stringify({ url: to })
      const answer = await fetch(`${at.url}/api/webhooks`, { method: 'POST', headers, body })
      return ((await answer.json()) as { data: { id: number } }).data.id
    }
    const values = await sampleValues({ store, accountId, receiver: url, makeWebhook })
    await store.close()
    const authorizationOf = (document: string) => (document === 'tokens' ? authorization : credential)
    const own = join(folder, name)
    mkdirSync(own)
    writeFileSync(join(own, 'package.json'), '{"type": "module"}')
    const here = calls.filter(({ operation }) => !NOT_HERE.includes(operation))
    const { wrong } = await callAll(here, { folder: own, documents, base: at.url, authorizationOf, values })
    expect(wrong).toEqual([])
  }

  // A broadcast goes on while the database is migrated.
  const access = await accountOf(cliOf(earlier, env))
  const shows = await showOf(access, before)
  shows.begin(before)
  await until(async () => (await shows.statusAt(before)) === 200)
  const after = await node(env, later)
  await until(async () => (await shows.statusAt(after)) === 200)
  await shows.end()
  const listed = await cliOf(later, env)('account', 'list', '--json')
  expect(JSON.parse(listed)).toMatchObject([{ id: access.accountId }])
  await uses(earlier, before, 'earlier', access)
  await uses(later, after, 'later', access)
  shows.begin(after)
  await until(async () => (await shows.statusAt(before)) === 200)
  await shows.end()
  for (const one of [before, after]) {
    one.signal('SIGTERM')
    expect(await one.ended).toBe(0)
    expect(one.log()).not.toMatch(/"level":"(error|fatal)"/)
  }
})

async function node(env: Record<string, string>, { main }: Version): Promise<Served & { rtmpPort: number }> {
  const [port, rtmpPort] = [await ownPort(), await ownPort()]
  const own = {
    SLUICE_SERVER_PORT: String(port),
    SLUICE_SERVER_NODE_URL: `http://127.0.0.1:${port}`,
    SLUICE_RTMP_PORT: String(rtmpPort),
    SLUICE_WEBRTC_PORT: '0',
    // No answer needs it, and the doctor would try its encoders.
    SLUICE_FFMPEG_PATH: '/nowhere/ffmpeg',
    SLUICE_WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true',
  }
  const served = await serve(['--data', newDirectory()], { ...env, ...own }, main === undefined ? {} : { entry: main })
  return { ...served, rtmpPort }
}

type Cli = (...argv: string[]) => Promise<string>

/** The command line of a version. */
const cliOf =
  ({ main }: Version, env: Record<string, string>): Cli =>
  async (...argv) => {
    const built = await builtProgram()
    const compiled = main === undefined ? { NODE_COMPILE_CACHE: built.compileCache } : {}
    const all = [main ?? built.main, '--data', newDirectory(), ...argv]
    const { stdout } = await promisify(execFile)(process.execPath, all, {
      env: { ...process.env, ...compiled, ...env },
    })
    return stdout.trim()
  }

interface Access {
  readonly accountId: string
  readonly secret: string
  readonly credential: string
}

/** The account, which is the only one, with a new API secret and credential of the channels interface. */
async function accountOf(cli: Cli): Promise<Access> {
  const [accounts, secret, credential] = await Promise.all([
    cli('account', 'list', '--json'),
    cli('secret', 'create', '--name', 'upgrade'),
    cli('credential', 'create', '--name', 'upgrade'),
  ])
  const [{ id: accountId }] = JSON.parse(accounts) as [{ id: string }]
  return { accountId, secret, credential: `Basic ${Buffer.from(credential).toString('base64')}` }
}

/** Broadcasts of an account, one after another, over RTMP. */
async function showOf({ accountId, secret }: Access, at: Served) {
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ label: 'x', streams: [{ streamName: STREAM }] })
  const made = await fetch(`${at.url}/api/publish_token`, { method: 'POST', headers, body })
  const { token } = ((await made.json()) as { data: { token: string } }).data
  const statusAt = async ({ url }: Served) => (await fetch(`${url}/hls/${accountId}/${STREAM}/index.m3u8`)).status
  let publishesTo: Served = at
  return {
    statusAt,
    begin(node: Served & { rtmpPort: number }) {
      publishesTo = node
      pushSource('plain', `rtmp://127.0.0.1:${node.rtmpPort}/v2/pub/${STREAM}?token=${token}`)
    },
    async end() {
      endChildren()
      await until(async () => (await statusAt(publishesTo)) !== 200)
    },
  }
}
