import { err, ok, type Result } from '../base/result.ts'
import { readEngine, syncEngineTargets, updateEngine } from '../commands/channels/engines.ts'
import { readToken } from '../commands/tokens/readTokens.ts'
import { syncRestream } from '../commands/tokens/syncRestream.ts'
import { updateToken } from '../commands/tokens/updateToken.ts'
import type { EngineRecord } from '../core/channels/engineSchema.ts'
import type { ChannelFailure } from '../core/channels/errors.ts'
import type { TokenRecord } from '../core/tokens/record.ts'
import type { CommandResult } from './command.ts'
import { fromChannelFailure, type CliRefusal } from './refusal.ts'
import type { AccountScope } from './session.ts'

/** A target as records show it. */
export interface Target {
  readonly url: string
  readonly key: string
  readonly label: string
  readonly enabled: boolean
  /** Of those of tokens: an engine makes H.264 for all of its targets. */
  readonly transcode?: boolean
}

/** What has its media sent on to targets. */
export interface TargetHolder {
  readonly kind: 'token' | 'engine'
  read(scope: AccountScope): CommandResult<readonly Target[]>
  /** Keys as records show them stay as they are. */
  write(scope: AccountScope, targets: readonly Target[]): CommandResult<readonly Target[]>
  /** Has targets dialled again that were refused or have failed. */
  sync(scope: AccountScope): CommandResult<true>
}

/** The publish token with this number, or else the engine with this id. */
export const holderOf = (id: string): TargetHolder => (/^\d{1,15}$/.test(id) ? token(Number(id)) : engine(id))

const token = (id: number): TargetHolder => ({
  kind: 'token',
  read: async ({ ctx, accountId }) => ofToken(await readToken(ctx, accountId, 'publish', id)),
  write: async ({ ctx, actor }, restream) =>
    ofToken(await updateToken(ctx, actor, { kind: 'publish', id }, { restream })),
  sync: ({ ctx, actor }) => syncRestream(ctx, actor, id),
})

const engine = (id: string): TargetHolder => ({
  kind: 'engine',
  read: async ({ ctx, accountId }) => ofEngine(await readEngine(ctx, accountId, id)),
  write: async ({ ctx, actor }, restream) => ofEngine(await updateEngine(ctx, actor, id, { restream })),
  async sync({ ctx, actor }) {
    const done = await syncEngineTargets(ctx, actor, id)
    return done.ok ? done : err(fromChannelFailure(done.error))
  },
})

const ofToken = (found: Result<TokenRecord, CliRefusal>): Result<readonly Target[], CliRefusal> =>
  found.ok ? ok('restream' in found.value ? found.value.restream : []) : found

const ofEngine = (found: Result<EngineRecord, ChannelFailure>): Result<readonly Target[], CliRefusal> =>
  found.ok ? ok(found.value.restream) : err(fromChannelFailure(found.error))
