import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasCode } from '../../src/base/errorCode.ts'
import { requestOfBlock } from '../../scripts/docs/request.ts'
import { type Block, blocksOf, type Page } from '../support/markdown.ts'
import { command, serve, type Served } from './cliProcess.ts'
import { difference } from './docsResults.ts'
import { ownPort } from '../support/ownPort.ts'
import { type BuiltProgram, builtProgram } from '../support/program.ts'
import { installedPrograms, SampleGate } from '../support/samplePrograms.ts'
import { pace, until } from '../support/until.ts'

/** For how long steps are repeated until they succeed, from the start of a background command, in milliseconds. */
const TIMEOUT_MS = 30_000
/** For how long one command may take, in milliseconds. */
const COMMAND_MS = 30_000

type Environment = Record<string, string>

/** A server for the pages, with an API secret and a credential. */
export interface DocsServer {
  readonly env: Environment
  /** Replaces the ports of the pages by those of this server. */
  here(text: string): string
  stop(): Promise<void>
}

export async function startDocsServer(): Promise<DocsServer> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-docs-'))
  const [rtmp, srt, webRtc, receiver] = await Promise.all([ownPort(), ownPort(), ownPort(), ownPort()])
  const built = await builtProgram()
  const settings = {
    SLUICE_DATA_DIR: join(dir, 'data'),
    SLUICE_RTMP_PORT: String(rtmp),
    SLUICE_SRT_PORT: String(srt),
    SLUICE_WEBRTC_PORT: String(webRtc),
    SLUICE_WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true',
    NODE_COMPILE_CACHE: built.compileCache,
  }
  const server = await serve([], settings)
  const [secret, credential] = await Promise.all([
    command(['secret', 'create', '--name', 'docs'], { env: settings }),
    command(['credential', 'create', '--name', 'docs'], { env: settings }),
  ])
  const ports = new Map([
    ['8080', server.port],
    ['1935', rtmp],
    ['10000', srt],
    ['8000', receiver],
  ])
  return {
    env: {
      ...settings,
      SECRET: secret.stdout.trim(),
      CREDENTIAL: credential.stdout.trim(),
      PATH: `${programs(dir, built)}:${process.env['PATH'] ?? ''}`,
      HOME: dir,
    },
    here: (text) =>
      text
        .replaceAll('npm run -s sluice --', 'sluice')
        .replaceAll(
          /(localhost:|127\.0\.0\.1:|--port )(8080|1935|10000|8000)\b/g,
          (_, before: string, port: string) => {
            return `${before}${ports.get(port)}`
          },
        ),
    stop: () => end(server, dir),
  }
}

async function end(server: Served, dir: string): Promise<void> {
  server.signal('SIGTERM')
  await server.ended
  rmSync(dir, { recursive: true, force: true })
}

/** A folder with the command `sluice`. */
function programs(dir: string, { main }: BuiltProgram): string {
  const bin = join(dir, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'sluice'), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`)
  chmodSync(join(bin, 'sluice'), 0o755)
  return bin
}

/** A command of a page, with the result that the page states, if any. */
interface Step {
  readonly block: Block
  readonly stated: Block | null
}

const runs = ({ language, note }: Block): boolean => ['bash', 'http'].includes(language) && !note.startsWith('no-run')

export function stepsOf(page: Page): Step[] {
  const blocks = blocksOf(page.text)
  return blocks.flatMap((block, at) => {
    const next = blocks[at + 1]
    const stated = next?.note === 'result' ? next : null
    return runs(block) ? [{ block, stated }] : []
  })
}

/** Runs the commands of a page in their order; variables go on from one to the next. */
export async function runPage(page: Page, server: DocsServer): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-docs-page-'))
  const gate = await SampleGate.open()
  const run = new PageRun(server, gate, folder)
  try {
    for (const step of stepsOf(page)) {
      await run.step(step).catch((error: Error) => {
        throw new Error(`${page.path}:${step.block.line}: ${error.message}`)
      })
    }
  } finally {
    await run.close()
    await gate.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** They take turns, over all pages. */
const samplePrograms = installedPrograms()
let sentRequests = 0

class PageRun {
  readonly #server: DocsServer
  readonly #gate: SampleGate
  readonly #folder: string
  readonly #background: ChildProcess[] = []
  #env: Environment
  /** Until when a step that fails is repeated, because it may have to wait for a background command. */
  #repeatUntil = 0

  constructor(server: DocsServer, gate: SampleGate, folder: string) {
    this.#server = server
    this.#gate = gate
    this.#folder = folder
    this.#env = server.env
  }

  async step({ block, stated }: Step): Promise<void> {
    if (block.note.startsWith('background')) {
      await this.#startBackground(block)
      this.#repeatUntil = Date.now() + TIMEOUT_MS
      return
    }
    for (;;) {
      const wrong = await this.#try(block, stated)
      if (wrong === null) return
      if (Date.now() >= this.#repeatUntil) throw new Error(wrong)
      await pace(200)
    }
  }

  /** What was wrong with the step; null: nothing. */
  async #try(block: Block, stated: Block | null): Promise<string | null> {
    const { output, failed } = block.language === 'bash' ? await this.#bash(block) : await this.#request(block)
    if (failed !== null) return `${failed}\n${output}`
    return stated === null ? null : difference(stated, output)
  }

  async #bash(block: Block): Promise<{ output: string; failed: string | null }> {
    const state = join(this.#folder, 'variables')
    const script = `set -a; trap 'env -0 > "${state}"' EXIT\n${this.#server.here(block.code)}`
    const child = this.#spawn(script)
    let [output, complaints] = ['', '']
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (complaints += text))
    const timer = setTimeout(() => stopGroup(child), COMMAND_MS)
    const [status] = (await once(child, 'close')) as [number | null]
    clearTimeout(timer)
    this.#env = readVariables(state)
    return { output, failed: status === 0 ? null : `ended with ${status}: ${complaints}` }
  }

  /** The note may name a port, on which the command listens before the next step. */
  async #startBackground(block: Block): Promise<void> {
    const child = this.#spawn(`exec ${this.#server.here(block.code)}`)
    child.stdout?.resume()
    child.stderr?.resume()
    this.#background.push(child)
    const [, port] = block.note.match(/^background port (\d+)$/) ?? []
    if (port !== undefined) await until(() => accepts(this.#server.here(`localhost:${port}`)))
  }

  #spawn(script: string): ChildProcess {
    const argv = ['-euo', 'pipefail', '-c', script]
    return spawn('bash', argv, {
      cwd: this.#folder,
      env: this.#env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  /** Sends a request with the next program of the machine; the note is the expected status, else any of 2xx. */
  async #request({ code, note }: Block): Promise<{ output: string; failed: string | null }> {
    const program = samplePrograms[sentRequests++ % samplePrograms.length]!
    const to = this.#server.here('http://localhost:8080')
    const { status, body } = await this.#gate.send(requestOfBlock(code), program, this.#env, to)
    const isExpected = /^\d+$/.test(note) ? String(status) === note : status >= 200 && status < 300
    if (!isExpected) return { output: body, failed: `${program.language}: answered ${status}` }
    const [, name, field] = note.match(/^saves (\w+)=(\w+)$/) ?? []
    if (name !== undefined && field !== undefined) this.#env = { ...this.#env, [name]: savedField(body, field) }
    return { output: body, failed: null }
  }

  async close(): Promise<void> {
    for (const child of this.#background) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const closed = once(child, 'close')
      stopGroup(child)
      await closed
    }
    // Over SRT a publisher that was killed is gone only after its silence, and the next page lists what is on the air.
    if (this.#background.length > 0) await until(() => this.#isQuiet())
  }

  /** True when no publisher is connected to the server. */
  async #isQuiet(): Promise<boolean> {
    const headers = { Authorization: `Bearer ${this.#server.env['SECRET']}` }
    const response = await fetch(this.#server.here('http://localhost:8080/api/sessions?action=publish'), { headers })
    const { data } = (await response.json()) as { data: unknown[] }
    return data.length === 0
  }
}

/** True when something listens at `host:port`. */
async function accepts(address: string): Promise<boolean> {
  const [host = '', port] = address.split(':')
  const socket = connect({ host, port: Number(port) })
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isOpen
}

/** A field of `data` in an answer, as a reader would note it. */
const savedField = (body: string, field: string): string =>
  String((JSON.parse(body) as { data: Record<string, unknown> }).data[field])

/** It may have ended with another one whose end Node tells first: of both, the processes are gone by then. */
function stopGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error
  }
}

function readVariables(file: string): Environment {
  const pairs = readFileSync(file, 'utf8').split('\0').filter(Boolean)
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]))
}
