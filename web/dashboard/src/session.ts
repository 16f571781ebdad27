import { signal } from '@preact/signals'
import { type Answer, readSession, signIn as postSession, signOut as deleteSession } from '#api/dashboard.ts'
import { ApiError, call } from './api/call.ts'

export type Session = Answer<typeof readSession>

/** `unknown`: not asked yet. `none`: signed out. A session that expires stays here: the page keeps what was typed. */
type SessionState =
  | { readonly kind: 'unknown' | 'none' /** There is no user yet. */; readonly isFirstRun?: boolean }
  | { readonly kind: 'signedIn'; readonly session: Session }

/** The server refuses a shorter password, in characters. */
export const PASSWORD_LEAST = 10

export const session = signal<SessionState>({ kind: 'unknown' })

/** True: the user may change things. A viewer sees no control that changes something. */
export const canChange = (): boolean => {
  const { value } = session
  return value.kind === 'signedIn' && value.session.user.role === 'admin'
}

/** Reads the session once, at the start. */
export async function openSession(): Promise<void> {
  try {
    session.value = { kind: 'signedIn', session: await call(readSession, {}, { signsIn: true }) }
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error
    session.value = { kind: 'none', isFirstRun: error.isFirstRun }
  }
}

export async function signIn(email: string, password: string): Promise<void> {
  await call(postSession, { body: { email, password } }, { signsIn: true })
  await openSession()
}

export async function signOut(): Promise<void> {
  await call(deleteSession, {}, { signsIn: true })
  session.value = { kind: 'none' }
}
