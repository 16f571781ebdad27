import { once } from 'node:events'
import type { Server } from 'node:http'
import { err, ok, type Result } from '../base/result.ts'
import { explainListening, REDIRECT_INSTEAD } from '../cli/port.ts'
import type { Config } from '../config/schema.ts'
import { type RedirectOptions, redirectServer } from '../edge/http/redirect.ts'
import type { App } from './app.ts'
import { NOTHING_PREPARED, type Prepared } from './prepared.ts'
import { configuredNames, type Tls } from './tls.ts'

/** Listens on the present `tls.redirectPort`. */
export class Redirects {
  readonly #app: App
  readonly #options: RedirectOptions
  #port = 0
  #server: Server | null = null

  /** @param port where this server speaks HTTPS */
  constructor(app: App, { certificate, challenge }: Tls, port: number) {
    this.#app = app
    const httpsPort = (): number => httpsPortOf(app.config, port)
    const names = (): string[] => [...certificate.current.names, ...configuredNames(app.config)]
    this.#options = { httpsPort, names, ...(challenge ? { challenge } : {}) }
  }

  /** Listens on the port of another configuration beside the present one. The error is a sentence for the operator. */
  async prepare({ server: { host }, tls: { redirectPort } }: Config): Promise<Result<Prepared, string>> {
    if (redirectPort === this.#port) return ok(NOTHING_PREPARED)
    const opened = redirectPort === 0 ? ok(null) : await this.#listen(host, redirectPort)
    if (!opened.ok) return opened
    const take = (): void => {
      end(this.#server)
      this.#server = opened.value
      this.#port = redirectPort
    }
    return ok({ take, drop: () => end(opened.value) })
  }

  async stop(): Promise<void> {
    end(this.#server)
  }

  async #listen(host: string, port: number): Promise<Result<Server, string>> {
    const server = redirectServer(this.#options)
    const { log } = this.#app.ctx
    try {
      server.on('error', (error) => log.warn({ err: error }, 'a connection to be redirected could not be accepted'))
      server.listen(port, host)
      await once(server, 'listening')
      return ok(server)
    } catch (error) {
      return err(explainListening(error as Error, host, port, REDIRECT_INSTEAD))
    }
  }
}

function httpsPortOf({ server: { publicUrl } }: Config, port: number): number {
  return publicUrl.startsWith('https:') ? Number(new URL(publicUrl).port || 443) : port
}

function end(server: Server | null): void {
  server?.close()
  server?.closeAllConnections()
}
