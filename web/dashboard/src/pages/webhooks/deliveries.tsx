import { useEffect, useState } from 'preact/hooks'
import { type Answer, listWebhookDeliveries, redeliverWebhookEvent } from '#api/tokens.ts'
import { call, callPage } from '../../api/call.ts'
import { useWalk } from '../../api/load.ts'
import { IconButton } from '../../parts/button.tsx'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card, Pairs } from '../../parts/page.tsx'
import { State, type StateKind } from '../../parts/state.tsx'
import { type Column, More, Table } from '../../parts/table.tsx'
import { orToast, toast } from '../../parts/toast.tsx'
import { count, Time } from '../../parts/values.tsx'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import type { Webhook } from './page.tsx'

const text = words.webhooks

type Delivery = Answer<typeof listWebhookDeliveries>[number]

const STATES: Readonly<Record<Delivery['state'], StateKind>> = {
  pending: 'idle',
  started: 'busy',
  delivered: 'ok',
  failed: 'error',
  skipped: 'off',
  unknown: 'warn',
}

/** How often the list is read while a delivery is under way. */
const LOOK_MS = 1000
const isUnderWay = ({ state }: Delivery): boolean => state === 'pending' || state === 'started'

interface DeliveriesProps {
  readonly webhook: Webhook
  /** How many tests this page has sent: the list is read again after each. */
  readonly tests: number
}

/** What was sent to a webhook, newest first, and what it answered. */
export function Deliveries({ webhook, tests }: DeliveriesProps) {
  const path = { webhookId: String(webhook.id) }
  const list = useWalk(
    (cursor, signal) => callPage(listWebhookDeliveries, { path, query: { cursor } }, { signal }),
    [webhook.id, tests],
  )
  const [chosenId, setChosenId] = useState<string | null>(null)
  const chosen = list.data?.find(({ id }) => id === chosenId)
  const { data, reload } = list
  useEffect(() => {
    if (!data?.some(isUnderWay)) return undefined
    const timer = setTimeout(reload, LOOK_MS)
    return () => clearTimeout(timer)
  }, [data, reload])
  const again = async ({ id }: Delivery): Promise<void> => {
    await call(redeliverWebhookEvent, { path: { ...path, deliveryId: id } })
    toast(text.sentAgain)
    list.reload()
  }
  return (
    <Card
      title={text.deliveries}
      isFlush
      foot={
        list.data && <More count={list.data.length} hasMore={list.hasMore} isBusy={list.isLoading} onMore={list.more} />
      }
    >
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      {!list.data && !list.error && <Bones />}
      {list.data?.length === 0 && <p class="pad note">{text.noDeliveries}</p>}
      {list.data && list.data.length > 0 && (
        <Table
          caption={text.deliveriesCaption}
          rows={list.data}
          keyOf={({ id }) => id}
          isChosen={({ id }) => id === chosenId}
          columns={columnsOf(({ id }) => setChosenId(id), again)}
        />
      )}
      {chosen && <Detail delivery={chosen} />}
    </Card>
  )
}

function columnsOf(choose: (one: Delivery) => void, again: (one: Delivery) => Promise<void>): Column<Delivery>[] {
  return [
    { id: 'time', title: words.parts.time, cell: ({ createdOn }) => <Time at={createdOn} /> },
    {
      id: 'answer',
      title: text.answer,
      cell: (one) => <State kind={STATES[one.state]}>{one.statusCode ?? text.states[one.state]}</State>,
    },
    {
      id: 'event',
      title: text.event,
      cell: (one) => (
        <button type="button" class="row" onClick={() => choose(one)}>
          <code>
            {one.type} {one.event}
          </code>
        </button>
      ),
    },
    { id: 'subject', title: text.subject, priority: 2, cell: ({ subject }) => subject && <code>{subject}</code> },
    {
      id: 'took',
      title: text.took,
      kind: 'number',
      priority: 2,
      cell: ({ durationMs }) => (durationMs === undefined ? '–' : `${count(durationMs)} ms`),
    },
    {
      id: 'actions',
      title: words.parts.actions,
      kind: 'actions',
      cell: (one) =>
        canChange() && (
          <IconButton
            icon="refresh"
            label={text.again(`${one.type} ${one.event}`)}
            onClick={() => void orToast(again(one))}
          />
        ),
    },
  ]
}

function Detail({ delivery }: { readonly delivery: Delivery }) {
  const { eventId, answer, error, statusCode, redeliveryOf } = delivery
  const rows = [
    [text.eventId, <code>{eventId}</code>] as const,
    ...(redeliveryOf ? [[text.redeliveryOf, <code>{redeliveryOf}</code>] as const] : []),
    ...(error ? [[text.problem, error] as const] : []),
  ]
  return (
    <div class="pad stack lined">
      <Pairs rows={rows} />
      <div class="section">
        <h3>{text.answered}</h3>
        <div class="block">
          <pre tabIndex={0} aria-label={text.answered}>
            <code>{[statusCode, answer].filter(Boolean).join('\n\n') || text.noAnswer}</code>
          </pre>
        </div>
      </div>
    </div>
  )
}
