import { createAccount } from '../../src/commands/accounts/accounts.ts'
import { createCredential } from '../../src/commands/accounts/credentials.ts'
import { cliActor } from '../../src/commands/context.ts'
import { type Answer, type AppSettings, type RunningApp, runApp } from './app.ts'

export interface ChannelsClient {
  running: RunningApp
  /** `Authorization` of a credential that may write. */
  authorization: string
  /** A request to `/v2` with that credential; the body is sent as JSON. */
  v2(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** The same, and returns `data`. Throws on a refusal. */
  made(method: string, path: string, body?: unknown): Promise<Answer['json']>
  close(): Promise<void>
}

/** Sluice in this process, behind a client of the channels interface. */
export async function runChannels(settings: AppSettings = {}): Promise<ChannelsClient> {
  const running = await runApp(settings)
  const authorization = await credential(running, 'write')
  const v2: ChannelsClient['v2'] = (method, path, body, headers = {}) =>
    running.call(method, `/v2${path}`, body, { authorization, ...headers })
  return {
    running,
    authorization,
    v2,
    async made(method, path, body) {
      const answer = await v2(method, path, body)
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
      return answer.json?.data
    },
    close: () => running.close(),
  }
}

/** The header of a new credential; of another account if one is named. */
export async function credential(
  { app, accountId }: RunningApp,
  scope: 'read' | 'write',
  account = accountId,
): Promise<string> {
  const actor = cliActor(account)
  const made = await createCredential(app.ctx, actor, `test ${Math.random()}`, scope)
  if (!made.ok) throw new Error(JSON.stringify(made.error))
  return `Basic ${Buffer.from(made.value.value).toString('base64')}`
}

/** The header of a credential of another account, which owns none of the objects of `live`. */
export async function strangerOf({ running }: ChannelsClient): Promise<string> {
  const other = await createAccount(running.app.ctx, 'other')
  if (!other.ok) throw new Error(JSON.stringify(other.error))
  return credential(running, 'write', other.value.id)
}

/** A channel with parts of every kind. */
export const WHOLE_CHANNEL = {
  name: 'Stage',
  externalIds: ['show-1'],
  ingests: [
    { name: 'Camera', type: 'rtmp-push', engines: [{ name: 'Main' }, { name: 'Spare', priority: 5 }] },
    { name: 'Studio', type: 'srt-pull', url: 'srt://studio.example.com:9000?passphrase=0123456789' },
  ],
  distributions: [{ name: 'Web', maxBitrate: 1_000_000 }],
}
