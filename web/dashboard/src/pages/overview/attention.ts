import { type Answer, readAttention } from '#api/tokens.ts'
import type { StateKind } from '../../parts/state.tsx'
import { linkTo } from '../../router.ts'
import { noticeWords } from '../../words/noticeWords.ts'
import { words } from '../../words/words.ts'

const text = words.overview.attention

type Found = Answer<typeof readAttention>[number]

/** Something that needs the user. */
export interface Need {
  readonly kind: StateKind
  readonly title: string
  /** What the server says of it. */
  readonly note: string
  /** Undefined: no page helps. */
  readonly href: string | undefined
}

/** Rows of the list at first. More of them would push the rest of the page away. */
const ROWS_MAX = 5

/**
 * What needs the user, the worst first: tokens that expire are one row for each kind. Five rows are shown until the
 * user asks for all.
 */
export function needsOf(
  found: readonly Found[],
  isWhole: boolean,
): { readonly rows: readonly Need[]; readonly more: number } {
  const needs = found.filter(({ kind }) => kind !== 'token_expires').map(needOf)
  for (const type of ['publish_token', 'subscribe_token'] as const) {
    const expiring = found.filter(({ kind, subject }) => kind === 'token_expires' && subject?.type === type)
    needs.push(...(expiring.length > 1 ? [expiringOf(type, expiring.length)] : expiring.map(needOf)))
  }
  const rows = isWhole ? needs : needs.slice(0, ROWS_MAX)
  return { rows, more: needs.length - rows.length }
}

const expiringOf = (type: 'publish_token' | 'subscribe_token', tokens: number): Need => ({
  kind: 'warn',
  title: text.expiring[type](tokens),
  note: '',
  href: linkTo(type === 'publish_token' ? '/tokens/publish' : '/tokens/subscribe', { state: 'expiring' }),
})

const needOf = ({ kind, severity, text: said, sentences, subject }: Found): Need => ({
  kind: severity === 'error' ? 'error' : 'warn',
  title: text.titles[kind],
  note: noticeWords(said, sentences),
  href: subject && pageOf(subject),
})

function pageOf({ type, id }: NonNullable<Found['subject']>): string {
  const part = encodeURIComponent(id)
  if (type === 'webhook') return linkTo(`/webhooks/${part}`)
  if (type === 'publish_token') return linkTo(`/tokens/publish/${part}`)
  if (type === 'subscribe_token') return linkTo(`/tokens/subscribe/${part}`)
  return type === 'stream' ? linkTo(`/streams/${part}`) : linkTo('/channels')
}
