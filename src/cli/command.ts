import type { Result } from '../base/result.ts'
import type { Flags, ValuesOf } from './flag.ts'
import type { Host } from './host.ts'
import type { Listing } from './listing.ts'
import type { Details } from './print.ts'
import type { CliRefusal } from './refusal.ts'

/** The answer of a command that succeeded. */
export interface CommandAnswer {
  /** The value that `--json` prints. */
  readonly json: unknown
  /** What standard output gets without `--json`: a text, of which '' prints nothing, a list, or records. */
  readonly text: string | Listing | Details
  /** Printed on standard error, unless `--json` is set. */
  readonly note?: string
  /** Like `note`, but only for a terminal, so that scripts that merge both outputs do not get it. */
  readonly hint?: string
  /** 1 when the answer is negative, such as a refused check. Default 0. */
  readonly exitCode?: 0 | 1
}

export type CommandResult<T> = Promise<Result<T, CliRefusal>>
export type CommandOutcome = CommandResult<CommandAnswer>

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

/** One command. Parsing, help and the reference are generated from it, so they always agree. */
export interface CliCommand {
  /** `['secret', 'create']` */
  readonly path: readonly string[]
  /** The last word of the path may be left out. */
  readonly isVerbOptional?: true
  /** One line: its purpose. */
  readonly summary: string
  /** Further facts for the user. */
  readonly detail?: string
  /** The positional arguments, in order; those that may be left out come last. */
  readonly args: Flags
  readonly flags: Flags
  /** Two sample command lines. */
  readonly examples: readonly [string, string]
  run(call: Call): CommandOutcome
}

interface Definition<F extends Flags, A extends Flags> {
  path: readonly string[]
  isVerbOptional?: true
  summary: string
  detail?: string
  args?: A
  flags?: F
  examples: readonly [string, string]
  run(call: Call<F, A>): CommandOutcome
}

/** Connects a command's table of flags with its code, so that the types of its flags follow from the table. */
export function command<F extends Flags, A extends Flags>(definition: Definition<F, A>): CliCommand {
  const run = (call: Call): CommandOutcome => definition.run(call as unknown as Call<F, A>)
  return { ...definition, args: definition.args ?? {}, flags: definition.flags ?? {}, run }
}

/** The name as the user types it: `secret create`. */
export const commandName = ({ path }: Pick<CliCommand, 'path'>): string => path.join(' ')
