import type { IncomingHttpHeaders } from 'node:http'
import type { Logger } from '../base/log.ts'
import type { Result } from '../base/result.ts'
import type { Context } from '../commands/context.ts'
import type { ConfigProblem } from '../config/problem.ts'
import type { Config, PartialConfig } from '../config/schema.ts'

/** An opened Sluice, as far as the command line sees it. */
export interface OpenedApp {
  readonly config: Config
  readonly ctx: Context
  close(): Promise<void>
}

/** A request that claims to come from a webhook. */
export interface ReceivedCallback {
  readonly body: Uint8Array
  readonly headers: IncomingHttpHeaders
  /** base64, as in the webhook's record. */
  readonly secret: string
  readonly headerPrefix: string
  readonly nowMs: number
}

type Mismatch = 'missing_signature' | 'wrong_signature' | 'too_old' | 'too_new'

/** The world around one command. `main.ts` makes the real one, tests make their own. */
export interface Host {
  readonly version: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Writes text as it is. */
  stdout(text: string): void
  stderr(text: string): void
  /** Whether a person reads standard error. */
  readonly stderrIsTerminal: boolean
  /** All of standard input, at most `maxBytes`; longer input is refused. */
  readStdin(maxBytes: number): Promise<Result<string, string>>
  /** Resolves at the first request to stop; a second one ends the process at once. */
  stopRequested(): Promise<string>
  loadConfig(sources: {
    file: string | undefined
    env: Host['env']
    flags: PartialConfig
  }): Result<Config, ConfigProblem[]>
  openApp(options: { config: Config; log: Logger }): Promise<OpenedApp>
  startServing(app: OpenedApp): Promise<{ port: number; stop(): Promise<void> }>
  /** Was it signed with this secret? The id is that of the event; null when the sender names none. */
  verifyCallback(callback: ReceivedCallback): Promise<Result<{ id: string | null }, Mismatch>>
}
