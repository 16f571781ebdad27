import type { Result } from '../base/result.ts'
import type { Flags, ValuesOf } from './flag.ts'
import type { Host } from './host.ts'
import type { CliRefusal } from './refusal.ts'

/** What a command answers when it was done. */
export interface CommandAnswer {
  /** The one value that `--json` prints. */
  readonly json: unknown
  /** What people get on standard output; '' prints nothing. */
  readonly text: string
  /** Beside it, on standard error, unless `--json` was asked for. */
  readonly note?: string
  /** As `note`, but only for people: scripts that merge both outputs are not surprised by it. */
  readonly hint?: string
  /** 1 when the answer is a "no", such as a refused check. Default 0. */
  readonly exitCode?: 0 | 1
}

export type CommandOutcome = Promise<Result<CommandAnswer, CliRefusal>>

/** The flags that every command takes. */
export interface Globals {
  readonly config: string | undefined
  readonly data: string | undefined
  readonly account: string | undefined
  readonly json: boolean
  readonly verbose: boolean
}

export interface Call<F extends Flags = Flags, A extends Flags = Flags> {
  readonly flags: ValuesOf<F>
  readonly args: ValuesOf<A>
  readonly globals: Globals
  readonly host: Host
}

/** One command: parsing, help and the reference are made from it, so they cannot disagree. */
export interface CliCommand {
  /** `['secret', 'create']` */
  readonly path: readonly string[]
  /** One line: what it does. */
  readonly summary: string
  /** More that a user must know. */
  readonly detail?: string
  /** The words after the command, in order, all required. */
  readonly args: Flags
  readonly flags: Flags
  /** Two command lines as people would type them. */
  readonly examples: readonly [string, string]
  run(call: Call): CommandOutcome
}

interface Definition<F extends Flags, A extends Flags> {
  path: readonly string[]
  summary: string
  detail?: string
  args?: A
  flags?: F
  examples: readonly [string, string]
  run(call: Call<F, A>): CommandOutcome
}

/** Joins a command's table of flags with the code that reads them, so that the types of its flags follow the table. */
export function command<F extends Flags, A extends Flags>(definition: Definition<F, A>): CliCommand {
  const run = (call: Call): CommandOutcome => definition.run(call as unknown as Call<F, A>)
  return { ...definition, args: definition.args ?? {}, flags: definition.flags ?? {}, run }
}

/** The name as typed: `secret create`. */
export const commandName = ({ path }: Pick<CliCommand, 'path'>): string => path.join(' ')
