import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../base/clock.ts'
import type { Logger, LogLevel } from '../base/log.ts'
import type { Result } from '../base/result.ts'
import type { Context } from '../commands/context.ts'
import type { ReloadAnswer } from '../commands/nodes/reload.ts'
import type { CodedSentence } from '../core/notices.ts'
import type { ConfigProblem } from '../config/problem.ts'
import type { ProvisionChange, ProvisionProblem } from '../core/provisioning/types.ts'
import type { Config, PartialConfig } from '../config/schema.ts'
import type { Mismatch } from '../core/webhooks/types.ts'

/** A sentence whose commands can be copied as they are in this installation. */
export const withProgram = (text: string, { program }: Pick<Host, 'program'>): string =>
  text.replaceAll('`sluice ', () => `\`${program} `)

/** An opened Sluice, as commands see it. */
export interface OpenedApp {
  readonly config: Config
  readonly ctx: Context
  close(): Promise<void>
}

/** What a backup says of itself, and which of its keys are known here. */
export interface BackupFacts {
  readonly version: string
  readonly engine: 'sqlite' | 'postgres'
  readonly createdAt: string
  readonly accounts: number
  readonly tokens: number
  readonly files: Readonly<Record<string, { readonly bytes: number; readonly sha256: string }>>
  /** Ids of keys. */
  readonly sealedBy: readonly string[]
  readonly missingKeys: readonly string[]
  readonly hasKey: boolean
  /** Whether the authority of `tls.selfSigned` is in it. */
  readonly hasAuthority: boolean
}

/** What a restore ended, because the server that the backup is of went on. */
export interface RestoredFacts extends BackupFacts {
  readonly ended: { readonly sessions: number; readonly deliveries: number }
}

/** Backups of the configured database. Errors are sentences for the operator. */
export interface Backups {
  create(config: Config, file: string, withKey: boolean): Promise<Result<BackupFacts, string>>
  verify(config: Config, file: string): Promise<Result<BackupFacts, string>>
  restore(config: Config, file: string): Promise<Result<RestoredFacts, string>>
}

/** A finished rotation of the sealing key. */
export interface RotatedKey {
  readonly keyId: string
  /** How many values the old key had sealed. */
  readonly values: number
}

/** A request that claims to be from a webhook. */
export interface ReceivedCallback {
  readonly body: Uint8Array
  readonly headers: IncomingHttpHeaders
  /** base64, as in the webhook's record. */
  readonly secret: string
  readonly headerPrefix: string
  readonly nowMs: number
}

/** How to apply the files of a provisioning folder. */
export interface ProvisionFlags {
  /** The account, if the files name none. Undefined: the only one. */
  readonly account: string | undefined
  readonly prune: boolean
  readonly isCheck: boolean
}

/** An encoder to try. */
export interface VideoEncoderTrial {
  readonly config: Config
  readonly name: Config['ffmpeg']['videoEncoder']
  readonly log: Logger
}

/** What answered when a server was asked for its health. */
export type HealthAnswer = (
  | { readonly kind: 'answered'; readonly status: number; readonly answer: string }
  | { readonly kind: 'failed'; readonly code: string; readonly sentence: CodedSentence }
) & {
  /** Whether the request showed a key of the installation, so that one of its servers answers with a report. */
  readonly isSigned: boolean
}

/** How a server reads its configuration again. */
export interface Reloading {
  /** Reads all sources of the configuration. */
  readonly readConfig: () => Result<Config, ConfigProblem[]>
  readonly setLogLevel: (level: LogLevel) => void
}

export interface Serving {
  readonly port: number
  /** Reads the configuration again. Never rejects; the answer says what was wrong. */
  reload(): Promise<ReloadAnswer>
  /** Takes nothing new, and moves its sessions to other nodes. Never rejects. */
  drain(): Promise<void>
  /** Resolves when it has drained, and has to stop. Never rejects. */
  readonly drained: Promise<void>
  stop(): Promise<void>
}

/** What signals do that request no stop. */
export interface ServingSignals {
  /** Called at each SIGHUP that is no closed terminal. */
  readonly onReload: () => void
  /** Called at each SIGUSR2. */
  readonly onDrain: () => void
}

/** The size of a terminal, in characters; infinite where it is not known. */
export interface Terminal {
  readonly columns: number
  readonly rows: number
}

/** The environment of one command. `main.ts` makes the real one, tests make their own. */
export interface Host {
  readonly version: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** What runs another command of this installation: `sluice`, where that is on the path. */
  readonly program: string
  /** Its sleepers keep the process alive. */
  readonly clock: Clock
  /** Writes text unchanged. */
  stdout(text: string): void
  stderr(text: string): void
  /** Resolves when standard output takes more: at once, unless its reader is slow. */
  stdoutDrained(): Promise<unknown>
  /** The terminal that standard output is, as large as it is now; null: a pipe or a file. */
  terminal(): Terminal | null
  /** Whether standard error is a terminal. */
  readonly stderrIsTerminal: boolean
  /** Reads all of standard input, at most `maxBytes`. Longer input is refused. */
  readStdin(maxBytes: number): Promise<Result<string, string>>
  /**
   * Resolves at the first request to stop. A second one ends the process at once.
   * @param serving what further signals do; null: SIGHUP requests a stop
   */
  stopRequested(serving: ServingSignals | null): Promise<string>
  loadConfig(sources: {
    file: string | undefined
    env: Host['env']
    flags: PartialConfig
  }): Result<Config, ConfigProblem[]>
  /** @param options.isServer what only servers need has to be right as well */
  openApp(options: { config: Config; log: Logger; isServer?: boolean }): Promise<OpenedApp>
  startServing(app: OpenedApp, reloading: Reloading): Promise<Serving>
  backups(): Promise<Backups>
  /** Applies the files of a folder. */
  provision(ctx: Context, folder: string, flags: ProvisionFlags): Promise<Result<ProvisionChange[], ProvisionProblem[]>>
  /** Seals everything with a new key. The error is a sentence for the operator. */
  rotateSealingKey(options: { config: Config; log: Logger }): Promise<Result<RotatedKey, string>>
  /** Encodes a few frames. Resolves with what is wrong, or null, within ten seconds. */
  tryVideoEncoder(trial: VideoEncoderTrial): Promise<string | null>
  /** The addresses of a name. Rejects within seconds when there is none. */
  addressesOf(name: string): Promise<string[]>
  /** Requests the URL as a client of the configured server would. Never rejects, resolves within ten seconds. */
  askHealth(config: Config, url: string): Promise<HealthAnswer>
  /** Whether the callback was signed with its secret. The id is that of the event; null when the sender sets none. */
  verifyCallback(callback: ReceivedCallback): Promise<Result<{ id: string | null }, Mismatch>>
}
