import { err, ok, type Result } from '../base/result.ts'
import { createToken } from '../commands/tokens/createToken.ts'
import { deleteToken } from '../commands/tokens/deleteToken.ts'
import { listTokens, listTokensByName, readToken } from '../commands/tokens/readTokens.ts'
import { revokeSelfSigned } from '../commands/tokens/revokeSelfSigned.ts'
import { failure } from '../core/errors.ts'
import { ownFields } from '../core/tokens/rules.ts'
import type { ListedTokenRecord } from '../core/tokens/rules.ts'
import { command } from './command.ts'
import { choiceFlag, id, textFlag, wholeFlag } from './flag.ts'
import { fields, table } from './print.ts'
import { type CliRefusal, usage } from './refusal.ts'
import { type AccountScope, withAccount } from './session.ts'
import { BODY_FLAGS, readBody } from './tokenBody.ts'
import { signCommand } from './tokenSign.ts'

const KIND = choiceFlag(['publish', 'subscribe'], 'publish', 'The kind of token.')
const TOKEN_ID = id('ID', 'The id of the token, as `sluice token list` shows it.')

type Kind = 'publish' | 'subscribe'

const create = command({
  path: ['token', 'create'],
  summary: 'Create a token and print only its value',
  detail: 'Its id goes to standard error; --json prints the whole record.',
  flags: { kind: KIND, ...BODY_FLAGS },
  examples: [
    'sluice token create --label "Studio 1" --stream studio-1 --secure',
    "sluice token create --kind subscribe --label Guests --regex 'cam-[0-9]+' --origin '*.example.com' --expires 86400",
  ],
  run: async (call) => {
    const body = await readBody(call, call.flags)
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
  summary: 'List tokens; their values are only in --json',
  flags: {
    kind: KIND,
    name: textFlag('TEXT', 'Only tokens with this text in the label or in an exact stream name.'),
    page: wholeFlag('N', 'Only this page of 100; if omitted, all of them.', { min: 1, max: 2_147_483_647 }),
  },
  examples: ['sluice token list', 'sluice token list --kind subscribe --name studio --json'],
  run: (call) =>
    withAccount(call, async (scope) => {
      const { kind, name, page } = call.flags
      const found = page === undefined ? await everyPage(scope, kind, name) : await onePage(scope, kind, name, page)
      if (!found.ok) return found
      return ok({ json: found.value, text: tokenTable(found.value) })
    }),
})

const ITEMS_ON_PAGE = 100
const PAGES_MAX = 1000

async function onePage(
  { ctx, accountId }: AccountScope,
  kind: Kind,
  name: string | undefined,
  page: number,
): Promise<Result<ListedTokenRecord[], CliRefusal>> {
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
): Promise<Result<ListedTokenRecord[], CliRefusal>> {
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

const tokenTable = (records: readonly ListedTokenRecord[]): string =>
  table(
    ['id', 'label', 'active', 'expires', 'streams'],
    records.map((record) => [
      String(record.id),
      record.label ?? '',
      record.isActive ? 'yes' : 'no',
      record.expiresOn ?? 'never',
      record.streams.map(({ streamName, isRegex }) => (isRegex ? `/${streamName}/` : streamName)).join(', '),
    ]),
  )

const show = command({
  path: ['token', 'show'],
  summary: 'Show one token with its value',
  args: { id: TOKEN_ID },
  flags: { kind: KIND },
  examples: ['sluice token show 7', 'sluice token show 8 --kind subscribe --json'],
  run: (call) =>
    withAccount(call, async ({ ctx, accountId }) => {
      const found = await readToken(ctx, accountId, call.flags.kind, call.args.id)
      return found.ok ? ok({ json: found.value, text: fields(ownFields(found.value)) }) : found
    }),
})

const remove = command({
  path: ['token', 'delete'],
  summary: 'Delete a token; Sluice refuses it from then on',
  args: { id: TOKEN_ID },
  flags: { kind: KIND },
  examples: ['sluice token delete 7', 'sluice token delete 8 --kind subscribe'],
  run: (call) =>
    withAccount(call, async ({ ctx, actor }) => {
      const { kind } = call.flags
      const done = await deleteToken(ctx, actor, kind, call.args.id)
      return done.ok ? ok({ json: true, text: '', hint: `The ${kind} token ${call.args.id} was deleted.` }) : done
    }),
})

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
      const issuedBefore = before === 'now' ? new Date(ctx.clock.now()).toISOString() : before
      const body = { ...(jti === undefined ? {} : { jti }), ...(issuedBefore === undefined ? {} : { issuedBefore }) }
      const done = await revokeSelfSigned(ctx, actor, call.args.id, body)
      return done.ok ? ok({ json: true, text: '', hint: 'Revoked.' }) : done
    })
  },
})

export const tokenCommands = [create, list, show, remove, signCommand, revoke]
