import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isatty } from 'node:tty'
import { systemClock } from '../base/clock.ts'
import { fileProblem, hasCode } from '../base/errorCode.ts'
import { shellWord } from '../base/quote.ts'
import { err, ok } from '../base/result.ts'
import type { Host, ServingSignals, Terminal } from './host.ts'

type OfProcess = 'env' | 'program' | 'clock' | 'stdout' | 'stderr' | 'stdoutDrained' | 'terminal' | 'stderrIsTerminal'
type World = Pick<Host, OfProcess | 'readStdin' | 'stopRequested'>

/** This process as the environment of a command. */
export function processWorld(): World {
  exitOnClosedPipe()
  return {
    env: process.env,
    program: programOf(process.env, process.argv[1] ?? ''),
    clock: { ...systemClock, sleep: (ms, signal) => delay(ms, undefined, signal && { signal }) },
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    stdoutDrained: async () => {
      if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain')
    },
    terminal,
    stderrIsTerminal: process.stderr.isTTY,
    readStdin,
    stopRequested,
  }
}

/**
 * What runs another command of the installation that the program `main` is of. npm and npx put `sluice` on the path of what they
 * run alone, and a clone has none.
 */
export function programOf(env: Host['env'], main: string): string {
  const { npm_lifecycle_event: script, PATH = '' } = env
  if (script === 'start' || script === 'sluice') return 'npm run -s sluice --'
  if (script === 'npx') return 'npx sluice'
  const wrapper = join(dirname(dirname(main)), 'bin', 'sluice.js')
  const isOnPath = PATH.split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, 'sluice')))
  return isOnPath || !existsSync(wrapper) ? 'sluice' : `node ${shellWord(wrapper)}`
}

/** Exits quietly when the reader closes the pipe early, as in `sluice token list | head`, and with a sentence when the disk is full. */
function exitOnClosedPipe(): void {
  process.stdout.on('error', (error) => {
    if (hasCode(error, 'EPIPE')) process.exit(0)
    process.stderr.write(`sluice: the command is done, but its output ${fileProblem(error)}\n`)
    process.exit(1)
  })
  // The server goes on to its orderly stop when its terminal closes (EIO).
  process.stderr.on('error', () => undefined)
}

/** A terminal may say that it has no columns, as that of a container does until it is attached. */
function terminal(): Terminal | null {
  const { isTTY, columns, rows } = process.stdout
  return isTTY ? { columns: columns || Number.POSITIVE_INFINITY, rows: rows || Number.POSITIVE_INFINITY } : null
}

const readStdin: Host['readStdin'] = async (maxBytes) => {
  if (process.stdin.isTTY) process.stderr.write('sluice: reads standard input until Enter and Ctrl+D\n')
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin) {
    chunks.push(chunk as Buffer)
    bytes += (chunk as Buffer).length
    if (bytes > maxBytes) return err(`standard input is longer than ${maxBytes} bytes`)
  }
  return ok(Buffer.concat(chunks).toString('utf8'))
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const
const STANDARD_STREAMS = [0, 1, 2]
/** 128 + SIGINT, as shells report it. */
const INTERRUPTED = 130
/**
 * Ctrl+C reaches every process of the terminal, and npm and the wrapper in bin/ forward it too. So signals this
 * close together count as one request.
 */
const ONE_REQUEST_MS = 1000

/** A terminal that closes sends SIGHUP, and so does an operator who wants a reload. */
function stopRequested(serving: ServingSignals | null): Promise<string> {
  const terminals = STANDARD_STREAMS.filter((descriptor) => isatty(descriptor))
  const isTerminalClosed = (): boolean => terminals.some((descriptor) => !isatty(descriptor))
  return new Promise((resolve) => {
    let requestedAtMs: number | null = null
    const stop = (signal: string): void => {
      const now = performance.now()
      if (requestedAtMs !== null && now - requestedAtMs > ONE_REQUEST_MS) process.exit(INTERRUPTED)
      requestedAtMs ??= now
      resolve(signal)
    }
    for (const signal of SIGNALS) process.on(signal, stop)
    process.on('SIGHUP', () => (serving === null || isTerminalClosed() ? stop('SIGHUP') : serving.onReload()))
    if (serving !== null) process.on('SIGUSR2', () => serving.onDrain())
  })
}
