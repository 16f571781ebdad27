import { pause } from '../base/clock.ts'
import { err, ok, type Result } from '../base/result.ts'
import type { CommandAnswer, CommandOutcome, CommandResult } from './command.ts'
import type { Host, OpenedApp } from './host.ts'
import { type CliRefusal, refusalText } from './refusal.ts'

const PAUSE_MS = 2_000
/** In a row: at least five minutes, longer than a restart or a failover of a database takes. */
const FAILURES_MAX = 150

/** Shows what a command answers again and again. */
export interface WatchDisplay {
  show(answer: CommandAnswer): void
  /** There was no answer this time; the next try is in two seconds. */
  failed(reason: string): void
}

interface Watch {
  readonly host: Host
  /** Runs the command on this host. */
  readonly look: (host: Host) => CommandOutcome
  readonly display: WatchDisplay
  /** Whether log lines go to standard error. On most terminals they would disturb the display. */
  readonly isVerbose: boolean
}

/**
 * Runs a command again and again, one run at a time with a pause after each, until a stop is requested. A run that fails is
 * repeated like the others, up to a bound; but not the first, because waiting mends no mistake.
 * @throws what the last of too many runs threw
 */
export async function watch({ host, look, display, isVerbose }: Watch): CommandResult<null> {
  const stopping = new AbortController()
  const { signal } = stopping
  void host.stopRequested(null).then(() => stopping.abort())
  const open = keepOpen(isVerbose ? host : { ...host, stderr: () => undefined })
  try {
    for (let failures = 0, isFirst = true; !signal.aborted; isFirst = false) {
      const outcome = await orStop(
        attempt(() => look(open.host)),
        signal,
      )
      if (outcome === null) break
      failures = outcome.ok ? 0 : failures + 1
      if (outcome.ok) display.show(outcome.value)
      else if (isFirst || failures >= FAILURES_MAX) return finalOf(outcome.error)
      else display.failed(reasonOf(outcome.error))
      if (!outcome.ok && outcome.error instanceof Error) await orStop(open.close(), signal)
      await orStop(host.stdoutDrained(), signal)
      await pause(host.clock, PAUSE_MS, signal)
    }
    return ok(null)
  } finally {
    await open.close()
  }
}

/** Resolves with null if the stop comes first. */
function orStop<T>(work: Promise<T>, stop: AbortSignal): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const onStop = (): void => resolve(null)
    stop.addEventListener('abort', onStop)
    if (stop.aborted) onStop()
    void work.then(resolve, reject).finally(() => stop.removeEventListener('abort', onStop))
  })
}

async function attempt(look: () => CommandOutcome): Promise<Result<CommandAnswer, CliRefusal | Error>> {
  try {
    return await look()
  } catch (error) {
    return err(error instanceof Error ? error : new Error(String(error)))
  }
}

function finalOf(error: CliRefusal | Error): Result<never, CliRefusal> {
  if (error instanceof Error) throw error
  return err(error)
}

const reasonOf = (error: CliRefusal | Error): string =>
  (error instanceof Error ? error.message : refusalText(error)).split('\n')[0] ?? ''

/** A host whose commands open Sluice once and leave it open, until `close`. The next command then opens it again. */
function keepOpen(host: Host): { readonly host: Host; close(): Promise<void> } {
  let opened: Promise<OpenedApp> | null = null
  const openApp: Host['openApp'] = async (options) => {
    opened ??= host.openApp(options)
    const { config, ctx } = await opened
    return { config, ctx, close: async () => undefined }
  }
  const close = async (): Promise<void> => {
    const closing = opened
    opened = null
    // What did not open has nothing to close, and a store that is away may fail to close.
    await closing?.then((app) => app.close()).catch(() => undefined)
  }
  return { host: { ...host, openApp }, close }
}
