import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { childEnvironment } from './childEnvironment.ts'

/** Each starts a program in an empty network namespace and becomes it. The first needs CAP_SYS_ADMIN. */
const LAUNCHERS: readonly (readonly string[])[] = [
  ['unshare', '--net'],
  ['unshare', '--user', '--map-current-user', '--net'],
]
/** For each attempt. */
const ATTEMPT_MS = 5000

/** Whether these words in front of a program start it. Resolves within seconds. */
export type TryLauncher = (words: readonly string[]) => Promise<boolean>

/**
 * The words in front of a program that start it without a network. Empty: nothing does so here, as on systems other than
 * Linux, or where namespaces are forbidden.
 */
export async function offlineLauncher(
  works: TryLauncher = startsItself,
  platform: NodeJS.Platform = process.platform,
): Promise<readonly string[]> {
  for (const words of platform === 'linux' ? LAUNCHERS : []) if (await works(words)) return words
  return []
}

const run = promisify(execFile)

/** Starts the launcher once more behind itself: it is the one program that is surely there, and takes milliseconds. */
const startsItself: TryLauncher = ([launcher = '', ...options]) =>
  run(launcher, [...options, launcher, '--version'], {
    timeout: ATTEMPT_MS,
    killSignal: 'SIGKILL',
    env: childEnvironment(),
  }).then(
    () => true,
    () => false,
  )
