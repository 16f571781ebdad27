import { signal } from '@preact/signals'

/** True while a call waits for the user to sign in again. The page shows a dialog over itself. */
export const needsSignIn = signal(false)

let waiting: PromiseWithResolvers<void> | null = null

/** Resolves when the user has signed in again. Concurrent calls share one dialog. */
export function signInAgain(): Promise<void> {
  waiting ??= Promise.withResolvers<void>()
  needsSignIn.value = true
  return waiting.promise
}

/** Lets the calls that wait go on. */
export function signedInAgain(): void {
  waiting?.resolve()
  waiting = null
  needsSignIn.value = false
}
