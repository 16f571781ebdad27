import { constants, setPriority } from 'node:os'

/**
 * Lets this thread run only when the threads that serve leave time for it. On Linux a thread has its own priority; elsewhere
 * this would change the priority of the process.
 */
export function yieldToServer(): void {
  try {
    if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW)
  } catch {
    // A sandbox may forbid it. Then the thread keeps its priority.
  }
}
