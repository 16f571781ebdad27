import { constants, setPriority } from 'node:os'

/**
 * Lets this thread work only when the threads that serve leave time. On Linux a thread has a priority of its own; elsewhere it
 * would be that of the process.
 */
export function yieldToServer(): void {
  try {
    if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW)
  } catch {
    // A sandbox may forbid it; then the thread runs as it is.
  }
}
