import { type Answer, readAttention } from '#api/tokens.ts'
import type { StateKind } from '../../parts/state.tsx'
import { linkTo } from '../../router.ts'
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

export const needOf = ({ kind, severity, text: note, subject }: Found): Need => ({
  kind: severity === 'error' ? 'error' : 'warn',
  title: text.titles[kind],
  note,
  href: subject && pageOf(subject),
})

function pageOf({ type, id }: NonNullable<Found['subject']>): string {
  const part = encodeURIComponent(id)
  if (type === 'webhook') return linkTo(`/webhooks/${part}`)
  if (type === 'publish_token') return linkTo(`/tokens/publish/${part}`)
  if (type === 'subscribe_token') return linkTo(`/tokens/subscribe/${part}`)
  return type === 'stream' ? linkTo(`/streams/${part}`) : linkTo('/channels')
}
