import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { requestSamples, SAMPLE_SERVER, type SampleRequest } from '../../src/edge/http/docs/samples.ts'

/** A program that runs the samples of a language. */
export interface SampleProgram {
  readonly language: string
  /** Of the files of its samples. */
  readonly extension: string
  /** The program and its arguments before the file. */
  readonly argv: readonly [string, ...string[]]
}

const PROGRAMS: readonly SampleProgram[] = [
  { language: 'curl', extension: 'sh', argv: ['bash'] },
  { language: 'JavaScript', extension: 'mjs', argv: [process.execPath] },
  { language: 'Python', extension: 'py', argv: ['python3'] },
  { language: 'Go', extension: 'go', argv: ['go', 'run'] },
  { language: 'PHP', extension: 'php', argv: ['php'] },
]

export const isInstalled = (program: string, flag = '--version'): boolean =>
  spawnSync(program, [flag]).error === undefined

/** Those of this machine. */
export const installedPrograms = (): readonly SampleProgram[] =>
  PROGRAMS.filter(({ language, argv: [program] }) => isInstalled(language === 'curl' ? 'curl' : program))

/** What a server saw of the request of a sample, and the answer to it. */
export interface SentSample {
  readonly request: {
    readonly method: string
    readonly url: string
    readonly authorization: string
    readonly type: string
    readonly json: unknown
  }
  readonly status: number
  readonly body: string
}

/** Stands between samples and Sluice, and sees what the samples send. */
export class SampleGate {
  readonly #server: Server
  readonly #folder = mkdtempSync(join(tmpdir(), 'sluice-sample-'))
  readonly #waiting = new Map<string, (request: IncomingMessage, answer: ServerResponse) => Promise<void>>()
  #count = 0

  private constructor(server: Server) {
    this.#server = server
    server.on('request', (request: IncomingMessage, answer: ServerResponse) => {
      const [, run = ''] = request.url?.match(/^\/run(\d+)\//) ?? []
      void this.#waiting.get(run)?.(request, answer)
    })
  }

  static async open(): Promise<SampleGate> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new SampleGate(server)
  }

  /**
   * Runs the sample of a request in a program.
   * @param to the server that gets the request; null: none, and the answer is `{}`
   * @throws Error with what the program printed, if it sent nothing
   */
  async send(
    sample: SampleRequest,
    program: SampleProgram,
    env: NodeJS.ProcessEnv,
    to: string | null,
  ): Promise<SentSample> {
    const run = String(this.#count++)
    let sent: SentSample | null = null
    this.#waiting.set(run, async (request, answer) => {
      sent = await seen(request, run, to)
      answer.writeHead(sent.status, { 'content-type': 'application/json' }).end(sent.body)
    })
    const file = join(this.#folder, `${run}.${program.extension}`)
    const code = requestSamples(sample).find(({ language }) => language === program.language)?.code ?? ''
    const { port } = this.#server.address() as AddressInfo
    writeFileSync(file, code.replaceAll(SAMPLE_SERVER, `http://127.0.0.1:${port}/run${run}`))
    const [command, ...args] = program.argv
    // A refused request ends some programs with an error.
    const { stderr } = await promisify(execFile)(command, [...args, file], { env }).catch((error: Error) => ({
      stderr: String(error),
    }))
    this.#waiting.delete(run)
    if (sent === null) throw new Error(`${program.language} sent nothing: ${stderr}\n${code}`)
    return sent
  }

  async close(): Promise<void> {
    rmSync(this.#folder, { recursive: true })
    this.#server.closeAllConnections()
    await new Promise((closed) => this.#server.close(closed))
  }
}

async function seen(message: IncomingMessage, run: string, to: string | null): Promise<SentSample> {
  const text = (await buffer(message)).toString()
  const { authorization = '', 'content-type': type = '' } = message.headers
  const [method, url] = [message.method ?? '', (message.url ?? '').replace(`/run${run}`, '')]
  const request = { method, url, authorization, type, json: text === '' ? null : (JSON.parse(text) as unknown) }
  if (to === null) return { request, status: 200, body: '{}' }
  const response = await fetch(to + url, {
    method,
    headers: { authorization, ...(type === '' ? {} : { 'content-type': type }) },
    ...(text === '' ? {} : { body: text }),
  })
  return { request, status: response.status, body: await response.text() }
}
