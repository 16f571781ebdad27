import { err, ok } from '../../base/result.ts'
import { readTokenSettings, TOKEN_CREATION, without, WITHOUT_EFFECT } from '../../core/provisioning/carried.ts'
import { hasSettings, difference } from '../../core/provisioning/difference.ts'
import type { ChangedSetting, ProvisionItem } from '../../core/provisioning/types.ts'
import type { TokenKind } from '../../core/tokens/types.ts'
import { createToken } from '../tokens/createToken.ts'
import { deleteToken } from '../tokens/deleteToken.ts'
import { revokeSelfSigned } from '../tokens/revokeSelfSigned.ts'
import { openTargetKeys } from '../tokens/targetKeys.ts'
import { shownToken } from '../tokens/tokenValue.ts'
import { updateToken } from '../tokens/updateToken.ts'
import {
  chosenTokenId,
  deleted,
  type ItemProblems,
  problemsByPath,
  type ProvisionedKind,
  secretChange,
  withProblems,
} from './kind.ts'

interface Entry {
  readonly streamName: string
  readonly isRegex?: boolean
}

/** The value of a token, as Sluice makes them. */
const VALUE = /^[0-9a-f]{64}$/
const WRONG_VALUE = 'is not 64 lowercase hexadecimal characters; make one with: openssl rand -hex 32'

/** Publish or subscribe tokens. */
export const provisionedTokens = (kind: TokenKind): ProvisionedKind => ({
  async compare({ ctx, tx, actor }, id, { body, secret }) {
    const stored = await tx.tokens.lock(actor.accountId, kind, Number(id))
    if (stored === undefined) return null
    const keys = await openTargetKeys(ctx, tx.restreamKeys, stored.id)
    const record = shownToken(ctx, stored, keys)
    const settings = without(body, [...TOKEN_CREATION, ...WITHOUT_EFFECT])
    const changed = difference(settings, { ...LEFT_OUT, ...record })
    return secret === null || secret === record.token ? changed : [...changed, secretChange('value')]
  },
  async create({ ctx, actor, tx }, { body, secret }) {
    const wrong = valueProblem(secret)
    if (wrong !== null) return err(wrong)
    const tokenId = chosenTokenId(body['id'])
    if (!tokenId.ok) return tokenId
    const read = readTokenSettings(kind, without(body, ['id']))
    if (!read.ok) return err(problemsByPath(read.error))
    const { revocations, boundAddresses, ...state } = read.value.carried
    const chosen = { ...state, id: tokenId.value, value: secret }
    const made = await createToken(ctx, actor, kind, read.value.body, chosen)
    if (!made.ok) return withProblems(made)
    const { id } = made.value
    const binding = { tokenId: id, version: 1, limit: boundAddresses.length, atMs: ctx.clock.now() }
    for (const address of boundAddresses) await tx.bindings.bind({ ...binding, address })
    for (const revocation of revocations) {
      const revoked = await revokeSelfSigned(ctx, actor, id, revocation)
      if (!revoked.ok) return withProblems(revoked)
    }
    return ok(String(id))
  },
  async update({ ctx, actor, touched }, id, { secret }, changed) {
    touched.tokens.add(Number(id))
    const wrong = valueProblem(secret)
    if (wrong !== null) return err(wrong)
    const body = Object.assign({}, ...changed.map(updateOf)) as object
    return withProblems(await updateToken(ctx, actor, { kind, id: Number(id) }, body, secret ?? undefined))
  },
  async delete({ ctx, actor, touched }, id) {
    touched.tokens.add(Number(id))
    return deleted(await deleteToken(ctx, actor, kind, Number(id)))
  },
})

/** Records do not say it, and files may. */
const LEFT_OUT = { hlsCodecs: 'h264' } as const

const valueProblem = (secret: ProvisionItem['secret']): ItemProblems | null =>
  secret === null || VALUE.test(secret) ? null : [{ path: 'value', message: WRONG_VALUE }]

/** A changed setting in the words of an update: it adds and removes streams, and cannot set the list. */
function updateOf({ setting, from, to }: ChangedSetting): object {
  if (setting === 'value') return { refreshToken: true }
  if (setting !== 'streams' || !Array.isArray(to) || !Array.isArray(from)) return { [setting]: to }
  const [wanted, there] = [to as Entry[], from as Entry[]]
  return {
    removeTokenStreams: there
      .filter((entry) => !wanted.some((one) => hasSettings(entry, one)))
      .map(({ streamName }) => streamName),
    addTokenStreams: wanted.filter((entry) => !there.some((one) => hasSettings(one, entry))),
  }
}
