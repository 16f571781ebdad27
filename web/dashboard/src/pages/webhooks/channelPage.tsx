import { useState } from 'preact/hooks'
import { type ChannelWebhook, listChannelWebhooks } from '#api/channels.ts'
import { callPage, everyRow } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { webhookEdits } from '../../live.ts'
import { Bones, Empty, LoadError, Notice } from '../../parts/notice.tsx'
import { goLater, linkTo, type PageArgs } from '../../router.ts'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'
import { ChannelWebhookCard } from './channelCard.tsx'
import { ALL_EVENTS } from './channelEvents.ts'
import { ChannelWebhookForm } from './channelForm.tsx'
import { ChannelLog } from './channelLog.tsx'
import { WebhooksFrame } from './frame.tsx'
import { PickList, SideList } from './pickList.tsx'
import { healthKindOf } from './states.ts'

const text = channelWords.channelWebhooks
const PER_PAGE = 100

/** Webhooks of channels: what each receives, and how its deliveries went. */
export function ChannelWebhooksPage({ values }: PageArgs) {
  const list = useLoad(loadAll, [])
  useFollow(webhookEdits, list.reload)
  const [isMaking, setMaking] = useState(false)
  const [awaitedId, setAwaitedId] = useState<string | null>(null)
  const chosen = values['id'] ? list.data?.find(({ id }) => id === values['id']) : list.data?.[0]
  const then = goLater()
  const made = (id: string): void => {
    list.reload()
    then(`/webhooks/channels/${id}`)
  }
  return (
    <WebhooksFrame path="/webhooks/channels" sub={text.sub} onCreate={() => setMaking(true)}>
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      {!list.data && !list.error && <Bones rows={4} />}
      {list.data?.length === 0 && (
        <section class="card">
          <Empty title={text.none}>{text.noneText}</Empty>
        </section>
      )}
      {list.data && list.data.length > 0 && (
        <SideList
          path="/webhooks/channels"
          isChosen={values['id'] !== undefined}
          hasOthers={list.data.length > 1 || !chosen}
          list={<PickList label={words.webhooks.title} rows={list.data.map(toRow)} chosenId={chosen?.id} />}
        >
          {chosen ? (
            <>
              <ChannelWebhookCard key={chosen.id} webhook={chosen} onChanged={list.reloaded} onSent={setAwaitedId} />
              <ChannelLog key={`l${chosen.id}`} webhook={chosen} awaitedId={awaitedId} onSent={setAwaitedId} />
            </>
          ) : (
            <Notice kind="warn">{words.webhooks.gone}</Notice>
          )}
        </SideList>
      )}
      {isMaking && <ChannelWebhookForm webhook={null} onSaved={made} onClose={() => setMaking(false)} />}
    </WebhooksFrame>
  )
}

const loadAll = (signal: AbortSignal): Promise<readonly ChannelWebhook[]> =>
  everyRow((cursor) => callPage(listChannelWebhooks, { query: { limit: PER_PAGE, cursor } }, { signal }))

/** How many events a webhook receives, in words. */
export const eventsOf = ({ events }: ChannelWebhook): string =>
  events.includes(ALL_EVENTS) ? text.allEvents : text.events(events.length)

const toRow = (webhook: ChannelWebhook) => {
  const { id, name, active, disabled, failuresInRow = 0 } = webhook
  const states = [
    disabled ? words.webhooks.paused : '',
    failuresInRow > 0 ? text.givenUp(failuresInRow) : '',
    active ? '' : text.inactive,
    eventsOf(webhook),
  ]
  return {
    id,
    kind: disabled || active ? healthKindOf(webhook) : ('off' as const),
    href: linkTo(`/webhooks/channels/${id}`),
    title: name,
    note: states.filter(Boolean).join(' · '),
  }
}
