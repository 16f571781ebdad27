import { useState } from 'preact/hooks'
import { listWebhooks } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { webhookEdits } from '../../live.ts'
import { Bones, Empty, LoadError, Notice } from '../../parts/notice.tsx'
import { goLater, linkTo, type PageArgs } from '../../router.ts'
import { words } from '../../words/words.ts'
import { Deliveries } from './deliveries.tsx'
import { WebhooksFrame } from './frame.tsx'
import { NewWebhook } from './newWebhook.tsx'
import { PickList, SideList } from './pickList.tsx'
import { healthKindOf } from './states.ts'
import { kindsOf, titleOf, type Webhook } from './webhook.ts'
import { WebhookCard } from './webhookCard.tsx'

const text = words.webhooks
/** Webhooks of one page of the list, which has 1,000 at most. */
const PER_PAGE = 100

/** Webhooks of the account: what each receives, and what was delivered. */
export function WebhooksPage({ values, query }: PageArgs) {
  const list = useLoad(loadAll, [])
  useFollow(webhookEdits, list.reload)
  const [isMaking, setMaking] = useState(false)
  const [tests, setTests] = useState(0)
  const chosen = values['id'] ? list.data?.find(({ id }) => String(id) === values['id']) : list.data?.[0]
  const then = goLater()
  const made = (id: number): void => {
    list.reload()
    then(`/webhooks/${id}`)
  }
  return (
    <WebhooksFrame path="/webhooks" sub={text.sub} onCreate={() => setMaking(true)}>
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      {!list.data && !list.error && <Bones rows={4} />}
      {list.data?.length === 0 && (
        <section class="card">
          <Empty title={text.none}>{text.noneText}</Empty>
        </section>
      )}
      {list.data && list.data.length > 0 && (
        <SideList
          path="/webhooks"
          isChosen={values['id'] !== undefined}
          hasOthers={list.data.length > 1 || !chosen}
          list={
            <PickList label={text.title} rows={list.data.map((one, _, all) => toRow(one, all))} chosenId={chosen?.id} />
          }
        >
          {chosen ? (
            <>
              <WebhookCard
                key={chosen.id}
                webhook={chosen}
                title={titleOf(chosen, list.data)}
                onChanged={list.reloaded}
                onTested={() => setTests(tests + 1)}
              />
              <Deliveries key={`d${chosen.id}`} webhook={chosen} query={query} tests={tests} onEnded={list.reload} />
            </>
          ) : (
            <Notice kind="warn">{text.gone}</Notice>
          )}
        </SideList>
      )}
      {isMaking && <NewWebhook onMade={made} onClose={() => setMaking(false)} />}
    </WebhooksFrame>
  )
}

async function loadAll(signal: AbortSignal): Promise<readonly Webhook[]> {
  const all: Webhook[] = []
  for (let startingId = 1; ; startingId = (all.at(-1)?.id ?? 0) + 1) {
    const page = await call(listWebhooks, { query: { startingId, itemCount: PER_PAGE } }, { signal })
    all.push(...page)
    if (page.length < PER_PAGE) return all
  }
}

function toRow(webhook: Webhook, all: readonly Webhook[]) {
  const { id, disabled, failuresInRow = 0 } = webhook
  const state = disabled ? text.paused : failuresInRow > 0 ? text.failed(failuresInRow) : ''
  return {
    id,
    kind: healthKindOf(webhook),
    href: linkTo(`/webhooks/${id}`),
    title: titleOf(webhook, all),
    note: [state, kindsOf(webhook).join(', ') || text.nothing].filter(Boolean).join(' · '),
  }
}
