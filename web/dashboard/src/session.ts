import { signal } from '@preact/signals'
import { type Answer, readSession, signIn as postSession, signOut as deleteSession } from '#api/dashboard.ts'
import { ApiError, asApiError, call } from './api/call.ts'

export type Session = Answer<typeof readSession>

/** `unknown`: not answered yet. `none`: signed out. A session that expires stays here: the page keeps what was typed. */
type SessionState =
  | {
      readonly kind: 'unknown' /** Why there was no answer; null: it was not waited for. */
      readonly problem: string | null
    }
  | { readonly kind: 'none' /** There is no user yet. */; readonly isFirstRun?: boolean }
  | { readonly kind: 'signedIn'; readonly session: Session }

/** The server refuses a shorter password, in characters. */
export const PASSWORD_LEAST = 10

export const session = signal<SessionState>({ kind: 'unknown', problem: null })

/** True: the user may change things. A viewer sees no control that changes something. */
export const canChange = (): boolean => {
  const { value } = session
  return value.kind === 'signedIn' && value.session.user.role === 'admin'
}

const AGAIN_MS = 2000
const isUnknown = (): boolean => session.value.kind === 'unknown'

addEventListener('storage', ({ key }) => {
  if (key === USER) void openSession().catch(() => undefined)
})

/** Reads the session at the start. A server that is away or refuses is asked again: without an answer there is no page. */
export async function beginSession(): Promise<void> {
  while (isUnknown()) {
    try {
      await openSession()
    } catch (error) {
      if (isUnknown()) session.value = { kind: 'unknown', problem: asApiError(error).message }
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
    }
  }
}

/** Where the pages of a browser, which share a session, say whose it is. */
const USER = 'sluice-user'

/** Reads the session, also when another page of this browser has signed in another user. */
export async function openSession(): Promise<void> {
  try {
    const opened = await call(readSession, {}, { signsIn: true })
    session.value = { kind: 'signedIn', session: opened }
    localStorage.setItem(USER, String(opened.user.id))
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
