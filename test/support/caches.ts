import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownPort } from './ownPort.ts'
import { builtProgram } from './program.ts'

export const isInstalled = (program: string): boolean => spawnSync(program, ['-V']).error === undefined

/** A cache in front of Sluice, on loopback. */
export interface Cache {
  readonly port: number
  /** Starts a program that reports its log. */
  report(): void
}

/** Runs the caches with the configurations in `packaging/`, with other ports and with files in directories of their own. */
export class Caches {
  readonly #base: string
  readonly #running: ChildProcess[] = []
  readonly #dirs: string[] = []
  /** The program that reports. */
  #main = ''

  /** @param base the URL of Sluice */
  constructor(base: string) {
    this.#base = base
  }

  async start(program: 'nginx' | 'varnishd'): Promise<Cache> {
    this.#main = (await builtProgram()).main
    return program === 'nginx' ? this.#startNginx() : this.#startVarnish()
  }

  async stop(): Promise<void> {
    for (const child of this.#running) {
      const closed = child.exitCode === null ? once(child, 'close') : null
      child.kill('SIGTERM')
      await closed
    }
    for (const dir of this.#dirs) rmSync(dir, { recursive: true, force: true })
  }

  async #startNginx(): Promise<Cache> {
    const [dir, port] = [this.#directory(), await ownPort()]
    const conf = packaged('nginx-hls.conf', [
      ['127.0.0.1:8080', `127.0.0.1:${new URL(this.#base).port}`],
      ['listen 80;', `listen 127.0.0.1:${port};`],
      ['/var/cache/nginx-hls', join(dir, 'hls')],
      ['/var/log/nginx', dir],
      ['# access_log', 'access_log'],
    ])
    const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((each) => `${each}_temp_path ${dir}/${each};`)
    const user = process.getuid?.() === 0 ? 'user root;' : ''
    const head = `${user} daemon off; master_process off; pid ${dir}/pid; error_log ${dir}/error.log;`
    const events = 'events { worker_connections 8192; }'
    writeFileSync(join(dir, 'nginx.conf'), `${head} ${events}\nhttp { ${temp.join(' ')}\n${conf}\n}\n`)
    const args = ['-p', dir, '-e', join(dir, 'error.log'), '-c', join(dir, 'nginx.conf')]
    this.#running.push(spawn('nginx', args, { stdio: 'inherit' }))
    return { port, report: () => void this.#reporter('--file', join(dir, 'hls-bytes')) }
  }

  async #startVarnish(): Promise<Cache> {
    const [dir, port] = [this.#directory(), await ownPort()]
    const vcl = packaged('varnish.vcl', [['.port = "8080";', `.port = "${new URL(this.#base).port}";`]])
    writeFileSync(join(dir, 'hls.vcl'), vcl)
    // Without its jail, because the directory is the test's.
    const args = ['-F', '-j', 'none', '-n', join(dir, 'work'), '-a', `127.0.0.1:${port}`, '-f', join(dir, 'hls.vcl')]
    const settings = ['thread_pool_min=200', 'vsl_reclen=5000'].flatMap((one) => ['-p', one])
    this.#running.push(spawn('varnishd', [...args, '-s', 'malloc,64m', ...settings], { stdio: 'ignore' }))
    return { port, report: () => this.#reportVarnish(join(dir, 'work')) }
  }

  #reportVarnish(work: string): void {
    // By lines: by itself it keeps 4 kB back.
    const args = ['-oL', 'varnishncsa', '-n', work, '-F', '%{%s}t %s %O %U']
    const log = spawn('stdbuf', args, { stdio: ['ignore', 'pipe', 'ignore'] })
    this.#running.push(log)
    const { stdin } = this.#reporter()
    if (stdin) log.stdout.pipe(stdin)
  }

  /** Runs `sluice cache-log`; its standard input is a pipe. */
  #reporter(...args: string[]): ChildProcess {
    const flags = ['cache-log', '--seconds', '1', '--url', this.#base, ...args]
    const child = spawn(process.execPath, [this.#main, ...flags], { stdio: ['pipe', 'ignore', 'inherit'] })
    this.#running.push(child)
    return child
  }

  #directory(): string {
    const dir = mkdtempSync(join(tmpdir(), 'sluice-hls-cache-'))
    this.#dirs.push(dir)
    return dir
  }
}

/** A file of `packaging/` with replacements, each of which must apply. */
function packaged(name: string, replaced: readonly (readonly [string, string])[]): string {
  let text = readFileSync(new URL(`../../packaging/${name}`, import.meta.url), 'utf8')
  for (const [from, to] of replaced) {
    if (!text.includes(from)) throw new Error(`${name} has no ${from}`)
    text = text.replaceAll(from, to)
  }
  return text
}
