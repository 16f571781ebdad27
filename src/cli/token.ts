import { err, ok } from '../base/result.ts'
import { type BoundIp, clearBoundIps, listBoundIps } from '../commands/tokens/boundAddresses.ts'
import { createToken } from '../commands/tokens/createToken.ts'
import { deleteToken } from '../commands/tokens/deleteToken.ts'
import { listTokens, listTokensByName, noToken, readToken } from '../commands/tokens/readTokens.ts'
import { revokeSelfSigned } from '../commands/tokens/revokeSelfSigned.ts'
import { switchTokens } from '../commands/tokens/switchTokens.ts'
import { updateToken } from '../commands/tokens/updateToken.ts'
import { failure } from '../core/errors.ts'
import { type ListedTokenRecord, ownFields } from '../core/tokens/record.ts'
import { type CliCommand, command, type CommandAnswer, type CommandResult } from './command.ts'
import { choiceFlag, choiceOrNone, given, id, textFlag, toggleFlag, wholeFlag } from './flag.ts'
import { type Columns, CSV_FLAG, listing, yesNo } from './listing.ts'
import { details } from './print.ts'
import { usage } from './refusal.ts'
import { type AccountScope, withAccount } from './session.ts'
import { CREATE_FLAGS, createBody, UPDATE_FLAGS, updateBody } from './tokenBody.ts'
import { signCommand } from './tokenSign.ts'

const KINDS = ['publish', 'subscribe'] as const
const KIND = choiceFlag(KINDS, 'publish', 'The kind of token.')
const OWN_KIND = choiceOrNone(KINDS, 'The kind of token; by default that of the id.')
const TOKEN_ID = id('ID', 'The id of the token, as `sluice token list` shows it.')

type Kind = (typeof KINDS)[number]

/** Tokens of both kinds share their ids. */
async function kindOf({ ctx, accountId }: AccountScope, tokenId: number, given: Kind | undefined): Promise<Kind> {
  return given ?? ((await readToken(ctx, accountId, 'subscribe', tokenId)).ok ? 'subscribe' : 'publish')
}

const create = command({
  path: ['token', 'create'],
  summary: 'Create a token and print only its value',
  detail:
    'Its id goes to standard error; --json prints the whole record. It needs --label, and --stream or --regex; or --body.',
  flags: { kind: KIND, ...CREATE_FLAGS },
  examples: [
    'sluice token create --label "Studio 1" --stream studio-1 --secure',
    "sluice token create --kind subscribe --label Guests --regex 'cam-[0-9]+' --origin '*.example.com' --expires 86400",
  ],
  run: async (call) => {
    const body = await createBody(call)
    if (!body.ok) return body
    const { kind } = call.flags
    return withAccount(call, async ({ ctx, actor }) => {
      const made = await createToken(ctx, actor, kind, body.value)
      if (!made.ok) return made
      return ok({ json: made.value, text: made.value.token, note: `The id of this ${kind} token is ${made.value.id}.` })
    })
  },
})

const list = command({
  path: ['token', 'list'],
  summary: 'List publish tokens, or with --kind subscribe the others; their values are only in --json',
  flags: {
    kind: KIND,
    name: textFlag('TEXT', 'Only tokens with this text in the label or in an exact stream name.'),
    page: wholeFlag('N', 'Only this page of 100; if omitted, all of them.', { min: 1, max: 2_147_483_647 }),
    ...CSV_FLAG,
  },
  examples: ['sluice token list', 'sluice token list --kind subscribe --name studio --json'],
  run: (call) =>
    withAccount(call, async (scope) => {
      const { kind, name, page } = call.flags
      const found = page === undefined ? await everyPage(scope, kind, name) : await onePage(scope, kind, name, page)
      if (!found.ok) return found
      return ok({ json: found.value, text: listing(COLUMNS, found.value) })
    }),
})

const ITEMS_ON_PAGE = 100
const PAGES_MAX = 1000

async function onePage(
  { ctx, accountId }: AccountScope,
  kind: Kind,
  name: string | undefined,
  page: number,
): CommandResult<ListedTokenRecord[]> {
  const query = { page: String(page), itemsOnPage: String(ITEMS_ON_PAGE), sortBy: 'AddedOn' }
  const found =
    name === undefined
      ? await listTokens(ctx, accountId, kind, query)
      : await listTokensByName(ctx, accountId, kind, { ...query, name })
  return found.ok ? ok(found.value.records) : found
}

async function everyPage(
  scope: AccountScope,
  kind: Kind,
  name: string | undefined,
): CommandResult<ListedTokenRecord[]> {
  const all: ListedTokenRecord[] = []
  for (let page = 1; page <= PAGES_MAX; page++) {
    const found = await onePage(scope, kind, name, page)
    if (!found.ok) return found
    all.push(...found.value)
    if (found.value.length < ITEMS_ON_PAGE) return ok(all)
  }
  return err(
    failure('bad_request', `There are more than ${all.length} tokens: ask for one --page, or filter with --name`),
  )
}

const COLUMNS: Columns<ListedTokenRecord> = {
  id: ['key', ({ id }) => id],
  label: ['text', ({ label }) => label],
  active: ['text', ({ isActive }) => yesNo(isActive)],
  expires: ['time', ({ expiresOn }) => expiresOn ?? 'never'],
  streams: [
    'text',
    ({ streams }) => streams.map(({ streamName, isRegex }) => (isRegex ? `/${streamName}/` : streamName)).join(', '),
  ],
}

const show = command({
  path: ['token', 'show'],
  summary: 'Show one token with its value',
  args: { id: TOKEN_ID },
  flags: { kind: OWN_KIND },
  examples: ['sluice token show 7', 'sluice token show 7 --json | jq -r .token'],
  run: (call) =>
    withAccount(call, async (scope) => {
      const { id: tokenId } = call.args
      const found = await readToken(scope.ctx, scope.accountId, await kindOf(scope, tokenId, call.flags.kind), tokenId)
      return found.ok ? ok({ json: found.value, text: details(ownFields(found.value)) }) : found
    }),
})

const update = command({
  path: ['token', 'update'],
  summary: 'Change a token and show it',
  detail:
    'Omitted settings stay as they are. A list replaces the one before it. Sessions that the changed token would refuse ' +
    'end, unless it has --no-end-sessions-on-update. Expiry and tracking id cannot change.',
  args: { id: TOKEN_ID },
  flags: { kind: OWN_KIND, ...UPDATE_FLAGS },
  examples: [
    'sluice token update 7 --secure --ip 203.0.113.7 --ip 198.51.100.0/24',
    "sluice token update 8 --add-regex 'cam-[0-9]+' --no-origin",
  ],
  run: async (call) => {
    const body = await updateBody(call)
    if (!body.ok) return body
    return withAccount(call, async (scope) => {
      const { id: tokenId } = call.args
      const token = { kind: await kindOf(scope, tokenId, call.flags.kind), id: tokenId }
      const changed = await updateToken(scope.ctx, scope.actor, token, body.value)
      return changed.ok ? ok({ json: changed.value, text: details(ownFields(changed.value)) }) : changed
    })
  },
})

/** `token enable` and `token disable`. */
const switching = (verb: 'enable' | 'disable', summary: string): CliCommand =>
  command({
    path: ['token', verb],
    summary,
    args: { id: TOKEN_ID },
    flags: { kind: OWN_KIND },
    examples: [`sluice token ${verb} 7`, `sluice token ${verb} 8 --kind subscribe`],
    run: (call) =>
      withAccount(call, async (scope) => {
        const { ctx, actor } = scope
        const { id: tokenId } = call.args
        const kind = await kindOf(scope, tokenId, call.flags.kind)
        const done = await switchTokens(ctx, actor, { kind, isActive: verb === 'enable' }, { tokenIds: [tokenId] })
        if (!done.ok) return done
        if (done.value.failedTokens.length > 0) return err(noToken(kind, tokenId))
        return ok({ json: true, text: '', hint: `The ${kind} token ${tokenId} is ${verb}d.` })
      }),
  })

const enable = switching('enable', 'Let a disabled token admit clients again')
const disable = switching('disable', 'Refuse new clients with a token until it is enabled; open sessions go on')

const remove = command({
  path: ['token', 'delete'],
  summary: 'Delete a token; Sluice refuses it from then on',
  args: { id: TOKEN_ID },
  flags: { kind: OWN_KIND },
  examples: ['sluice token delete 7', 'sluice token delete 8 --kind subscribe'],
  run: (call) =>
    withAccount(call, async (scope) => {
      const { id: tokenId } = call.args
      const kind = await kindOf(scope, tokenId, call.flags.kind)
      const done = await deleteToken(scope.ctx, scope.actor, kind, tokenId)
      return done.ok ? ok({ json: true, text: '', hint: `The ${kind} token ${tokenId} was deleted.` }) : done
    }),
})

const boundIps = command({
  path: ['token', 'bound-ips'],
  summary: 'List the addresses that a token is bound to, or forget them',
  args: { id: TOKEN_ID },
  flags: {
    kind: OWN_KIND,
    clear: toggleFlag('Forget them all; the token binds the next addresses that use it. Open sessions go on.'),
    ...CSV_FLAG,
  },
  examples: ['sluice token bound-ips 8', 'sluice token bound-ips 8 --clear'],
  run: (call) =>
    withAccount<CommandAnswer>(call, async (scope) => {
      const { ctx, actor, accountId } = scope
      const { id: tokenId } = call.args
      const kind = await kindOf(scope, tokenId, call.flags.kind)
      if (!call.flags.clear) {
        const bound = await listBoundIps(ctx, accountId, kind, tokenId)
        return bound.ok ? ok({ json: bound.value, text: listing(BOUND, bound.value) }) : bound
      }
      const done = await clearBoundIps(ctx, actor, kind, tokenId)
      return done.ok ? ok({ json: true, text: '', hint: `The ${kind} token ${tokenId} is bound to no address.` }) : done
    }),
})

const BOUND: Columns<BoundIp> = {
  address: ['key', ({ address }) => address],
  first: ['time', ({ firstUsedOn }) => firstUsedOn],
  last: ['time', ({ lastUsedOn }) => lastUsedOn],
}

const revoke = command({
  path: ['token', 'revoke'],
  summary: 'Refuse self-signed tokens of a subscribe token from now on',
  detail: 'Revokes one by its jti, or all that were issued before a time. A revocation is final.',
  args: { id: id('ID', 'The id of the parent, the subscribe token that signed them.') },
  flags: {
    jti: textFlag('JTI', 'Refuse the token with this jti.'),
    'issued-before': textFlag('TIME', 'Refuse all tokens issued before this ISO 8601 time, or `now`.'),
  },
  examples: ['sluice token revoke 8 --jti viewer-4711', 'sluice token revoke 8 --issued-before now'],
  run: async (call) => {
    const { jti, 'issued-before': before } = call.flags
    if (jti === undefined && before === undefined) return err(usage('--jti or --issued-before is required'))
    return withAccount(call, async ({ ctx, actor }) => {
      const done = await revokeSelfSigned(ctx, actor, call.args.id, given({ jti, issuedBefore: before }))
      return done.ok ? ok({ json: true, text: '', hint: 'Revoked.' }) : done
    })
  },
})

export const tokenCommands = [create, list, show, update, enable, disable, remove, boundIps, signCommand, revoke]
