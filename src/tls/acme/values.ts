import { sha256 } from '../../base/crypto.ts'
import type { Sealer } from '../../base/sealer.ts'
import { SEALED_COLUMNS } from '../../core/sealed.ts'
import type { Store } from '../../store/store.ts'

const { context: CONTEXT } = SEALED_COLUMNS.acme

export interface SharedOptions {
  readonly store: Store
  readonly sealer: Sealer
}

/** The name of a value of this kind in the store. */
export const acmeId = (kind: 'account' | 'certificate', ...of: readonly string[]): string =>
  `${kind}:${sha256(of.join('\n')).toString('hex').slice(0, 32)}`

const CHALLENGE = 'challenge:'

/** What authorities send (RFC 8555 section 8.3), bounded. */
const TOKEN = /^[\w-]{16,128}$/

/** What an authority has to find under `/.well-known/acme-challenge/`; null: no node has asked for it. */
export async function challengeAnswer({ store, sealer }: SharedOptions, token: string): Promise<string | null> {
  const sealed = TOKEN.test(token) ? await store.read.acme.value(CHALLENGE + token) : undefined
  return sealed ? openValue(sealer, sealed) : null
}

export async function publishChallenge(
  { store, sealer }: SharedOptions,
  token: string,
  answer: string,
  nowMs: number,
): Promise<void> {
  if (!TOKEN.test(token)) throw new Error('the authority sent a challenge with a token that is not one')
  await store.transaction((tx) => tx.acme.put(CHALLENGE + token, sealValue(sealer, answer), nowMs))
}

/** Answers to challenges of earlier orders. */
export const pruneAnswers = ({ store }: SharedOptions, beforeMs: number): Promise<void> =>
  store.transaction((tx) => tx.acme.prune(CHALLENGE, beforeMs))

/** @throws when no key of this node opens it */
export function openValue(sealer: Sealer, sealed: Uint8Array): string {
  const opened = sealer.open(sealed, CONTEXT)
  if (!opened.ok) throw new Error(`a value of ACME in the database opens with no key that is here (${opened.error})`)
  return opened.value.toString()
}

export const sealValue = (sealer: Sealer, value: string): Buffer => sealer.seal(value, CONTEXT)
