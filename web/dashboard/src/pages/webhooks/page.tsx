import { useState } from 'preact/hooks'
import { type Answer, listWebhooks } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { Button } from '../../parts/button.tsx'
import { Bones, Empty, LoadError } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { Shape } from '../../parts/state.tsx'
import { go, linkTo } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import type { PageArgs } from '../pages.ts'
import { Deliveries } from './deliveries.tsx'
import { NewWebhook } from './newWebhook.tsx'
import { kindsOf, WebhookCard } from './webhookCard.tsx'

const text = words.webhooks
/** The most webhooks of one page of the list; accounts have a few. */
const MOST = 100

export type Webhook = Answer<typeof listWebhooks>[number]

/** The host of a webhook names it; the whole URL is on its card. */
export const hostOf = ({ url }: Pick<Webhook, 'url'>): string => (URL.canParse(url) ? new URL(url).host : url)

/** Webhooks of the account: what each receives, and what was delivered. */
export function WebhooksPage({ values }: PageArgs) {
  const list = useLoad((signal) => call(listWebhooks, { query: { itemCount: MOST } }, { signal }), [])
  const [isMaking, setMaking] = useState(false)
  const [tests, setTests] = useState(0)
  const chosen = list.data?.find(({ id }) => String(id) === values['id']) ?? list.data?.[0]
  const made = (id: number): void => {
    list.reload()
    go(`/webhooks/${id}`)
  }
  return (
    <Page
      title={text.title}
      sub={text.sub}
      actions={
        canChange() && (
          <Button look="primary" icon="plus" onClick={() => setMaking(true)}>
            {text.create}
          </Button>
        )
      }
    >
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      {!list.data && !list.error && <Bones rows={4} />}
      {list.data?.length === 0 && <Empty title={text.none}>{text.noneText}</Empty>}
      {list.data && chosen && (
        <div class="cols side-list">
          <List webhooks={list.data} chosen={chosen} />
          <div class="stack">
            <WebhookCard
              key={chosen.id}
              webhook={chosen}
              onChanged={list.reload}
              onTested={() => setTests(tests + 1)}
            />
            <Deliveries key={`d${chosen.id}`} webhook={chosen} tests={tests} />
          </div>
        </div>
      )}
      {isMaking && <NewWebhook onMade={made} onClose={() => setMaking(false)} />}
    </Page>
  )
}

function List({ webhooks, chosen }: { readonly webhooks: readonly Webhook[]; readonly chosen: Webhook }) {
  return (
    <section class="card" aria-label={text.title}>
      <ul class="rows pick">
        {webhooks.map((one) => (
          <li key={one.id} class={one === chosen ? 'now' : ''} aria-current={one === chosen ? 'true' : undefined}>
            <Shape kind={one.disabled ? 'error' : 'ok'} isSmall />
            <div class="grow">
              <a class="row-link" href={linkTo(`/webhooks/${one.id}`)}>
                {hostOf(one)}
              </a>
              <p>
                {one.disabled ? `${text.paused} · ` : ''}
                {kindsOf(one).join(', ') || text.nothing}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}
