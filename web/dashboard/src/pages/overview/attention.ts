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
  /** What the server says of it; empty: the title says all. */
  readonly note: string
  /** Undefined: no page helps. */
  readonly href: string | undefined
}

/** Rows of the list at first. More of them would push the rest of the page away. */
const ROWS_MAX = 5
/** Streams that one row names. */
const NAMES_MAX = 3

/**
 * What needs the user, the worst first. Streams with the same trouble are one row, and so are tokens of a kind that expire.
 * Five rows are shown until the user asks for all.
 */
export function needsOf(
  found: readonly Found[],
  isWhole: boolean,
): { readonly rows: readonly Need[]; readonly more: number } {
  const groups = Map.groupBy(found, (one) => groupOf(one) ?? one)
  const needs = [...groups].map(([group, items]) =>
    typeof group === 'string' && items.length > 1 ? needOfAll(group, items) : needOf(items[0] as Found),
  )
  const rows = isWhole ? needs : needs.slice(0, ROWS_MAX)
  return { rows, more: needs.length - rows.length }
}

type Group = keyof typeof text.together

const GROUP_PAGES: Readonly<Record<Group, string>> = {
  stream_stalled: linkTo('/streams', { health: 'stalled' }),
  stream_impaired: linkTo('/streams', { health: 'impaired' }),
  stream_uneven: linkTo('/streams', { health: 'uneven' }),
  publish_token: linkTo('/tokens/publish', { state: 'expiring' }),
  subscribe_token: linkTo('/tokens/subscribe', { state: 'expiring' }),
}

/** Undefined: it has a row of its own. */
function groupOf({ kind, subject }: Found): Group | undefined {
  const group = kind === 'token_expires' ? subject?.type : kind
  return group !== undefined && group in GROUP_PAGES ? (group as Group) : undefined
}

function needOfAll(group: Group, found: readonly Found[]): Need {
  const names = found.flatMap(({ subject }) => (subject?.type === 'stream' ? [subject.id] : []))
  const isLong = names.length > NAMES_MAX
  return {
    kind: found.some(({ severity }) => severity === 'error') ? 'error' : 'warn',
    title: text.together[group](found.length),
    note: [...names.slice(0, NAMES_MAX), ...(isLong ? ['…'] : [])].join(', '),
    href: GROUP_PAGES[group],
  }
}

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
