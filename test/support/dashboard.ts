import { cliActor } from '../../src/commands/context.ts'
import { createUser } from '../../src/commands/users/users.ts'
import type { UserRole } from '../../src/core/users/types.ts'
import type { Answer, RunningApp } from './app.ts'

export const PASSWORD = 'correct horse battery'

/** A browser that is signed in to the dashboard. */
export interface Browser {
  readonly id: number
  readonly email: string
  /** `sluice_session=…`, as the browser sends it. */
  readonly cookie: string
  /** A request of a page of the dashboard; `path` is below `/dashboard/api`. Headers that are empty are left out. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
}

let users = 0

export async function makeUser(running: RunningApp, role: UserRole): Promise<{ id: number; email: string }> {
  const { app, accountId } = running
  users += 1
  const email = `${role}${users}@example.com`
  const made = await createUser(app.ctx, cliActor(accountId), { email, password: PASSWORD, role })
  if (!made.ok) throw new Error(JSON.stringify(made.error))
  return made.value
}

/** A new user who has signed in. */
export async function browserOf(running: RunningApp, role: UserRole = 'admin'): Promise<Browser> {
  const { id, email } = await makeUser(running, role)
  return { id, email, ...(await signInAs(running, email)) }
}

export async function signInAs(running: RunningApp, email: string): Promise<Pick<Browser, 'cookie' | 'call'>> {
  const answer = await callAs(running, '', 'POST', '/session', { email, password: PASSWORD })
  if (answer.status !== 200) throw new Error(answer.text)
  const cookie = cookieOf(answer)
  return { cookie, call: (...request) => callAs(running, cookie, ...request) }
}

/** The cookie that an answer sets, as the browser sends it. */
export const cookieOf = ({ headers }: Answer): string => (headers.get('set-cookie') ?? '').split(';', 1)[0] ?? ''

export function callAs(
  running: RunningApp,
  cookie: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const sent = { authorization: '', cookie, 'x-sluice-dashboard': '1', 'sec-fetch-site': 'same-origin', ...headers }
  const named = Object.entries(sent).filter(([, value]) => value !== '')
  return running.call(method, `/dashboard/api${path}`, body, Object.fromEntries([['authorization', ''], ...named]))
}
