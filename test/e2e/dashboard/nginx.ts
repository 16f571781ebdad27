import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownPort } from '../../support/ownPort.ts'
import { until } from '../../support/until.ts'

export const isNginxInstalled = spawnSync('nginx', ['-v']).status === 0

/** An nginx that strips a path prefix and passes the rest on. */
export class Nginx {
  readonly #port: number
  readonly #prefix: string
  readonly #dir = mkdtempSync(join(tmpdir(), 'sluice-nginx-'))
  #process: ChildProcess | null = null

  /** @param prefix such as `/tv/live` */
  static async open(prefix: string): Promise<Nginx> {
    return new Nginx(await ownPort(), prefix)
  }

  private constructor(port: number, prefix: string) {
    this.#port = port
    this.#prefix = prefix
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}${this.#prefix}`
  }

  /** Begins to pass requests on. */
  async passTo(url: string): Promise<void> {
    writeFileSync(join(this.#dir, 'nginx.conf'), this.#configuration(url))
    const args = ['-p', this.#dir, '-c', join(this.#dir, 'nginx.conf'), '-e', join(this.#dir, 'error.log')]
    this.#process = spawn('nginx', args, { stdio: 'ignore' })
    await until(() => isListening(this.#port))
  }

  async close(): Promise<void> {
    this.#process?.kill('SIGTERM')
    if (this.#process?.exitCode === null) await once(this.#process, 'exit')
    rmSync(this.#dir, { recursive: true })
  }

  #configuration(url: string): string {
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    return `
      pid ${this.#dir}/pid;
      daemon off;
      events {}
      http {
        access_log off;
        ${temporary.map((of) => `${of}_temp_path ${this.#dir}/${of};`).join('\n')}
        server {
          listen 127.0.0.1:${this.#port};
          location ${this.#prefix}/ {
            proxy_pass ${url}/;
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto $scheme;
          }
        }
      }`
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
