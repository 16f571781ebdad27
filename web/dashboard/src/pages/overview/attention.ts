import { listPublishTokens, listSubscribeTokens, listWebhooks } from '#api/tokens.ts'
import { callRows, call } from '../../api/call.ts'
import type { StreamOnAir } from '../../live.ts'
import type { StateKind } from '../../parts/state.tsx'
import { bitrate } from '../../parts/values.tsx'
import { linkTo } from '../../router.ts'
import { words } from '../../words/words.ts'

const text = words.overview.attention

/** Something that needs the user. */
export interface Need {
  readonly kind: StateKind
  readonly title: string
  readonly note: string
  readonly href: string
  readonly way: string
}

/** What needs the user beside the streams: paused webhooks, and tokens that expire within a week. */
export async function readNeeds(signal: AbortSignal): Promise<readonly Need[]> {
  const expiring = { query: { state: 'expiring', itemsOnPage: 1 } } as const
  const [webhooks, publish, subscribe] = await Promise.all([
    call(listWebhooks, { query: { itemCount: 100 } }, { signal }),
    callRows(listPublishTokens, expiring, { signal }),
    callRows(listSubscribeTokens, expiring, { signal }),
  ])
  return [
    ...webhooks.filter(({ disabled }) => disabled).map(pausedWebhook),
    ...expiringTokens('publish', publish.total),
    ...expiringTokens('subscribe', subscribe.total),
  ]
}

const pausedWebhook = ({ id, url, disabled }: { id: number; url: string; disabled?: { reason: string } }): Need => ({
  kind: 'error',
  title: text.paused,
  note: text.pausedNote(URL.parse(url)?.host ?? url, disabled?.reason ?? ''),
  href: linkTo(`/webhooks/${id}`),
  way: text.answers,
})

const expiringTokens = (kind: 'publish' | 'subscribe', count: number): Need[] =>
  count === 0
    ? []
    : [
        {
          kind: 'warn',
          title: text.expiring(count, kind),
          note: '',
          href: linkTo(`/tokens/${kind}`, { state: 'expiring' }),
          way: text.showThem,
        },
      ]

/** The streams that arrive badly. */
export const needsOf = (streams: readonly StreamOnAir[]): Need[] =>
  streams.flatMap((stream): Need[] => {
    const { streamName, health, bitrateLowest = 0, bitrateHighest = 0 } = stream
    if (health === 'steady') return []
    const isUneven = health === 'uneven'
    return [
      {
        kind: isUneven ? 'warn' : 'error',
        title: isUneven ? text.uneven(streamName) : text.stalled(streamName),
        note: isUneven ? text.range(bitrate(bitrateLowest), bitrate(bitrateHighest)) : text.stalledNote,
        href: linkTo(`/streams/${encodeURIComponent(streamName)}`),
        way: text.closer,
      },
    ]
  })
