import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { basename, delimiter, isAbsolute, join, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { AccountShare } from '../../base/accountShare.ts'
import { childEnvironment } from '../../base/childEnvironment.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { walled } from '../../base/walls.ts'
import { coded, type Said, say } from '../../core/notices.ts'
import { localInputs } from './localInputs.ts'
import { type Progress, progressReader } from './progress.ts'
import { type Tail, tailOf } from './tail.ts'
import { type VideoEncoder, X264 } from './videoEncoders.ts'

/** Starts and tracks every ffmpeg process of this server. */
export interface Ffmpeg {
  /**
   * Starts a process. `missing`: there is no such program; `busy`: the limit of processes is reached. `exited` reports
   * every other failure.
   */
  run(job: FfmpegJob): Result<FfmpegProcess, FfmpegRefusal>
  /** How many processes are running. */
  readonly running: number
  /** What encodes channels and the renditions of feeds. */
  readonly videoEncoder: VideoEncoder
  /** Ends all processes and starts no more. Resolves when they are gone. */
  stop(graceMs: number): Promise<void>
}

/** For the operator. */
export interface FfmpegRefusal extends Said {
  readonly code: 'missing' | 'busy'
}

export interface FfmpegJob {
  /** For the log: `hls abc123/lobby`. */
  readonly name: string
  /** Arguments after the general options: inputs, codecs, outputs. `pipe:0` reads what `write` or `script` supplies. */
  readonly args: readonly string[]
  /** True: the process reads what `write` gives it. Otherwise it has no standard input, except for `script`. */
  readonly stdin?: boolean
  /**
   * Instead of `stdin`: the whole content of `pipe:0`. For secrets, because other users of the machine can read the
   * arguments of every process.
   */
  readonly script?: string
  /** The most bytes that may wait to be written; default 8 MiB. */
  readonly backlogBytes?: number
  /** Takes what the process writes to `pipe:1`. */
  readonly stdout?: (chunk: Buffer) => void
  /** Each takes what the process writes to the pipe of its place: see `outputPipe`. A pipe that is not read stops all. */
  readonly outputs?: readonly ((chunk: Buffer) => void)[]
  readonly onProgress?: (progress: Progress) => void
  /** Runs with a lower priority, so that live streams come first. */
  readonly background?: boolean
  /** For whom it runs; see `ffmpegOf`. Absent: for the server, one after another. */
  readonly accountId?: string
  /**
   * True: it has the network of this host. Otherwise it has none where the system allows that, and its inputs are what it
   * is given and, without `stdin`, files: it decodes what strangers publish.
   */
  readonly network?: boolean
  readonly cwd?: string
}

export interface FfmpegExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The last lines of standard error, oldest first: the reason when it failed. */
  readonly tail: string
}

export interface FfmpegProcess {
  /** Null when it could not be started. */
  readonly pid: number | null
  /** The latest progress report; empty before the first. */
  readonly progress: Progress
  /** Takes all of the bytes or, returning false, none: too many are waiting, or the process is over. */
  write(bytes: Uint8Array): boolean
  /** Closes the input: the process finishes what it has and ends. */
  end(): void
  /** Closes the input, and kills the process after `graceMs`. Resolves when it is gone. */
  stop(graceMs: number): Promise<FfmpegExit>
  /** Never rejects. */
  readonly exited: Promise<FfmpegExit>
}

export interface FfmpegOptions {
  readonly log: Logger
  readonly clock: Clock
  /** A path, or a name to find in PATH. */
  readonly binary: string
  readonly maxChildren: () => number
  /** What an account may have of them. */
  readonly share?: AccountShare
  /** In front of the program of a job without network: see `offlineLauncher`. It must become that program. */
  readonly offline: readonly string[]
  /** Default: libx264. */
  readonly videoEncoder?: VideoEncoder
}

/**
 * A process that reads from our pipe sees the pipe close when the server dies, however it dies, and ends. A process that
 * reads another source would outlive the server. So a shell around it ends it when descriptor 4 closes, which only the
 * server holds. The server also closes it to stop such a process; a line on it says that ffmpeg ended by itself.
 */
const GUARD = [
  // A shell gives background commands no standard input, so pass it on through another descriptor.
  'exec 5<&0 </dev/null',
  '"$@" <&5 4<&- 5<&- & child=$!',
  'exec 3>&- 5<&-',
  'if ! read -r _ <&4; then',
  '  kill -TERM "$child" 2>/dev/null',
  '  { trap \'kill "$nap"; exit\' TERM; sleep 5 & nap=$!; wait "$nap"; kill -KILL "$child"; } >/dev/null 2>&1 4<&- & killer=$!',
  'fi',
  'wait "$child"; status=$?',
  '[ -z "$killer" ] || kill "$killer" 2>/dev/null',
  'exit "$status"',
].join('\n')

/** Behind those of the guard. */
const FIRST_OUTPUT = 6

/** The address that ffmpeg writes the output with this index of `outputs` to. */
export const outputPipe = (index: number): string => `pipe:${FIRST_OUTPUT + index}`

const GENERAL = ['-hide_banner', '-nostats', '-loglevel', 'warning', '-progress', 'pipe:3', '-stats_period', '1']
const BACKLOG_BYTES = 8 * 1024 * 1024

/** Runs the processes of an account, which leaves some to the others. */
export const ffmpegOf = (ffmpeg: Ffmpeg, accountId: string): Ffmpeg => ({
  run: (job) => ffmpeg.run({ ...job, accountId }),
  get running() {
    return ffmpeg.running
  },
  videoEncoder: ffmpeg.videoEncoder,
  stop: (graceMs) => ffmpeg.stop(graceMs),
})

export function createFfmpeg(options: FfmpegOptions): Ffmpeg {
  /** With their accounts; null: the server's. */
  const children = new Map<FfmpegProcess, string | null>()
  const { share = new AccountShare() } = options
  const hasShare = (accountId: string): boolean => {
    const own = [...children.values()].filter((one) => one === accountId)
    return share.allows(accountId, own.length, options.maxChildren())
  }
  let stopping = false
  return {
    get running() {
      return children.size
    },
    videoEncoder: options.videoEncoder ?? X264,
    run(job) {
      const isOver = job.accountId !== undefined && !hasShare(job.accountId)
      if (stopping || children.size >= options.maxChildren()) return err(busy(options.maxChildren(), stopping))
      if (isOver) return err({ code: 'busy', ...say(coded('ffmpeg_share')) })
      const program = findProgram(options.binary)
      if (program === null) return err(missing(options.binary))
      const child = start(program, job, options)
      children.set(child, job.accountId ?? null)
      void child.exited.then(() => children.delete(child))
      return ok(child)
    },
    async stop(graceMs) {
      stopping = true
      await Promise.all([...children.keys()].map((child) => child.stop(graceMs)))
    },
  }
}

const busy = (maxProcesses: number, stopping: boolean): FfmpegRefusal => ({
  code: 'busy',
  ...say(stopping ? coded('server_stopping') : coded('ffmpeg_busy', { processes: maxProcesses })),
})

const missing = (binary: string): FfmpegRefusal => ({
  code: 'missing',
  ...say(coded('ffmpeg_missing', { program: binary })),
})

/** Why no process can start; null: the program is there now. */
export const missingFfmpeg = (binary: string): FfmpegRefusal | null =>
  findProgram(binary) === null ? missing(binary) : null

/** The path of a program, or null. Searches each time: it may be installed while the server runs. */
function findProgram(binary: string): string | null {
  const isPath = isAbsolute(binary) || /[\\/]/.test(binary)
  const folders = isPath ? [''] : (process.env['PATH'] ?? '').split(delimiter)
  const candidates = folders.map((folder) => (isPath ? resolve(binary) : join(folder, binary)))
  return candidates.find(isProgram) ?? null
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** A snap starts by a program that takes more rights than a user namespace has. */
function isSnap(program: string): boolean {
  try {
    return basename(realpathSync(program)) === 'snap'
  } catch {
    return false
  }
}

function start(program: string, job: FfmpegJob, { log, clock, offline }: FfmpegOptions): FfmpegProcess {
  const child = spawnGuarded(program, job, offline)
  const tail = tailOf(child.stderr)
  const state = { progress: {} as Progress }
  read(child, 3, (progress) => {
    state.progress = progress
    job.onProgress?.(progress)
  })
  // A fault of ours in what takes its output ends this process and no other: its owner sees it end.
  const failed = (error: unknown): void => {
    log.error({ name: job.name, err: error }, 'the output of an ffmpeg could not be taken, so it is killed')
    kill(child)
  }
  if (job.stdout) child.stdout?.on('data', walled(job.stdout, failed))
  for (const [index, take] of (job.outputs ?? []).entries())
    pipesOf(child)[FIRST_OUTPUT + index]?.on('data', walled(take, failed))
  const exited = exitOf(child, tail)
  void exited.then(({ code, signal }) => log.debug({ name: job.name, code, signal }, 'ffmpeg ended'))
  const end = (): void => void (guardOf(child) ?? child.stdin)?.end()
  if (job.script !== undefined) child.stdin?.end(job.script)
  const started: FfmpegProcess = {
    pid: child.pid ?? null,
    get progress() {
      return state.progress
    },
    write: (bytes) => writeBounded(child.stdin, bytes, job.backlogBytes ?? BACKLOG_BYTES),
    end,
    async stop(graceMs) {
      end()
      const grace = new AbortController()
      const late = clock.sleep(graceMs, grace.signal).then(
        () => kill(child),
        () => undefined,
      )
      const exit = await exited
      grace.abort()
      await late
      return exit
    },
    exited,
  }
  return started
}

/** Spawns in a process group of its own: Ctrl+C at a terminal reaches only the server, and a kill reaches the guard too. */
function spawnGuarded(program: string, job: FfmpegJob, offline: readonly string[]): ChildProcess {
  const ownArgs = job.network ? job.args : localInputs(job.args, job.stdin === true)
  const args = [...GENERAL, ...(job.stdin ? [] : ['-nostdin']), ...ownArgs]
  const guarded = !job.stdin && process.platform !== 'win32'
  const nice = job.background && process.platform !== 'win32' ? ['nice', '-n', '10'] : []
  const hasInput = job.stdin === true || job.script !== undefined
  const launcher = [...(job.network || isSnap(program) ? [] : offline), ...nice]
  const argv = [...(guarded ? ['/bin/sh', '-c', GUARD, 'sh'] : []), ...launcher, program, ...args]
  const pipeIf = (isUsed: boolean): 'pipe' | 'ignore' => (isUsed ? 'pipe' : 'ignore')
  const outputs = job.outputs?.map(() => 'pipe' as const) ?? []
  return spawn(argv[0] ?? program, argv.slice(1), {
    env: childEnvironment(),
    stdio: [pipeIf(hasInput), pipeIf(job.stdout !== undefined), 'pipe', 'pipe', pipeIf(guarded), 'ignore', ...outputs],
    detached: true,
    windowsHide: true,
    ...(job.cwd === undefined ? {} : { cwd: job.cwd }),
  })
}

/** A process that could not be started because this one has no descriptor left has no pipes. */
const pipesOf = ({ stdio }: { readonly stdio?: ChildProcess['stdio'] }): Partial<ChildProcess['stdio']> => stdio ?? []

const guardOf = (child: ChildProcess): Writable | null => (pipesOf(child)[4] ?? null) as Writable | null

/** Reads progress from a pipe of its own. That pipe closes when ffmpeg ends, which also releases the guard. */
function read(child: ChildProcess, descriptor: number, onProgress: (progress: Progress) => void): void {
  const stream = pipesOf(child)[descriptor] as Readable | null | undefined
  stream?.setEncoding('utf8').on('data', progressReader(onProgress))
  stream?.on('close', () => guardOf(child)?.end('\n'))
  for (const pipe of pipesOf(child)) pipe?.on('error', () => undefined)
}

function exitOf(child: ChildProcess, tail: Tail): Promise<FfmpegExit> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, signal: null, tail: error.message }))
    child.once('close', (code, signal) => resolve({ code, signal, tail: tail.text() }))
  })
}

function writeBounded(stdin: Writable | null, bytes: Uint8Array, maxBytes: number): boolean {
  if (!stdin || !stdin.writable || stdin.writableLength + bytes.length > maxBytes) return false
  stdin.write(bytes)
  return true
}

function kill(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(process.platform === 'win32' ? child.pid : -child.pid, 'SIGKILL')
  } catch {
    // The process has ended in the meantime.
  }
}
