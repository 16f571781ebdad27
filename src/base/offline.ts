import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { childEnvironment } from './childEnvironment.ts'

/** Each starts a program in an empty network namespace and becomes it. The first needs CAP_SYS_ADMIN. */
const LAUNCHERS: readonly (readonly string[])[] = [
  ['unshare', '--net'],
  ['unshare', '--user', '--map-current-user', '--net'],
]
/** The exit status of a launcher. */
const NO_PROGRAM = 127
/** For each attempt. */
const ATTEMPT_MS = 5000

/** Whether a program runs with these words in front of it. Resolves within seconds. */
export type TryLauncher = (words: readonly string[], program: string) => Promise<boolean>

/**
 * The words in front of a program that start it without a network. Empty: nothing does so here, as on systems other than
 * Linux, or where namespaces are forbidden. Tries the program itself, because some cannot run in a user namespace.
 * @param program answers `-version`, as ffmpeg does
 */
export async function offlineLauncher(
  program: string,
  works: TryLauncher = answersVersion,
  platform: NodeJS.Platform = process.platform,
): Promise<readonly string[]> {
  for (const words of platform === 'linux' ? LAUNCHERS : []) if (await works(words, program)) return words
  return []
}

const run = promisify(execFile)

const answersVersion: TryLauncher = ([launcher = '', ...options], program) =>
  run(launcher, [...options, program, '-version'], {
    timeout: ATTEMPT_MS,
    killSignal: 'SIGKILL',
    env: childEnvironment(),
  }).then(
    () => true,
    // The launcher ran, and found no such program. It may be installed later.
    (error: { code?: unknown }) => error.code === NO_PROGRAM,
  )
