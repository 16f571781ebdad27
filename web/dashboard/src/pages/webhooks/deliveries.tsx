import { useEffect } from 'preact/hooks'
import { listWebhookDeliveries, redeliverWebhookEvent } from '#api/tokens.ts'
import { call, callPage } from '../../api/call.ts'
import { usePages } from '../../api/load.ts'
import { IconButton, RowButton } from '../../parts/button.tsx'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { useSince } from '../../parts/pastRange.ts'
import { State } from '../../parts/state.tsx'
import { type Column, Table, Turner } from '../../parts/table.tsx'
import { orToast, toast } from '../../parts/toast.tsx'
import { breakable, count, moment, Time } from '../../parts/values.tsx'
import { setQuery } from '../../router.ts'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { type Delivery, DeliveryDetail } from './deliveryDetail.tsx'
import { hasFilter, readDeliveryFilters } from './deliveryFilters.ts'
import { FilterTools } from './filterTools.tsx'
import { RedeliverAll } from './redeliverAll.tsx'
import { DELIVERY_STATES } from './states.ts'
import type { Webhook } from './webhook.ts'
import './webhooks.css'

const text = words.webhooks

/** Rows of a page. */
const PAGE = 50
/** How often the list is read while a delivery is under way. */
const LOOK_MS = 1000
const isUnderWay = ({ state }: Delivery): boolean => state === 'pending' || state === 'started'

interface DeliveriesProps {
  readonly webhook: Webhook
  /** The filters and the chosen delivery. */
  readonly query: URLSearchParams
  /** How many tests this page has sent: the list is read again after each. */
  readonly tests: number
  /** Another delivery is the latest that has ended. */
  readonly onEnded: () => void
}

/** What was sent to a webhook, newest first, and what it answered. */
export function Deliveries({ webhook, query, tests, onEnded }: DeliveriesProps) {
  const path = { webhookId: String(webhook.id) }
  const filters = readDeliveryFilters(query)
  const { state, type, range } = filters
  const since = useSince(range)
  const list = usePages(
    (cursor, signal) =>
      callPage(
        listWebhookDeliveries,
        { path, query: { state, type, from: since(cursor), cursor, limit: PAGE } },
        { signal },
      ),
    [webhook.id, tests, state, type, range],
  )
  const chosenId = query.get('delivery') ?? ''
  const { data, reload } = list
  useEffect(() => {
    if (!data?.some(isUnderWay)) return undefined
    const timer = setTimeout(reload, LOOK_MS)
    return () => clearTimeout(timer)
  }, [data, reload])
  const latestId = data?.find((one) => !isUnderWay(one))?.id
  useEffect(() => {
    if (latestId !== undefined) onEnded()
  }, [latestId])
  const again = async ({ id }: Delivery): Promise<void> => {
    await call(redeliverWebhookEvent, { path: { ...path, deliveryId: id } })
    toast(text.sentAgain)
    list.reload()
  }
  return (
    <Card
      title={text.deliveries}
      isFlush
      aside={canChange() && <RedeliverAll webhookId={path.webhookId} filters={filters} onSent={list.reload} />}
      foot={
        list.data && (
          <Turner
            page={list.page}
            perPage={PAGE}
            count={list.data.length}
            hasMore={list.hasMore}
            isBusy={list.isLoading}
            onPage={list.onPage}
          />
        )
      }
    >
      <FilterTools filters={filters} />
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      {!list.data && !list.error && <Bones />}
      {list.data?.length === 0 && <p class="pad note">{hasFilter(filters) ? text.noneMatch : text.noDeliveries}</p>}
      {list.data && list.data.length > 0 && (
        <Table
          caption={text.deliveriesCaption}
          rows={list.data}
          keyOf={({ id }) => id}
          isChosen={({ id }) => id === chosenId}
          columns={columnsOf(again)}
        />
      )}
      {chosenId !== '' && (
        <DeliveryDetail webhookId={path.webhookId} id={chosenId} listed={list.data ?? []} onChoose={choose} />
      )}
    </Card>
  )
}

const choose = (id: string): void => setQuery({ delivery: id })

/** Tells deliveries of the same kind apart. */
const whichOf = ({ subject = '', createdOn }: Delivery): string => `${subject} ${moment(createdOn)}`.trim()

function columnsOf(again: (one: Delivery) => Promise<void>): Column<Delivery>[] {
  return [
    { id: 'time', title: words.parts.time, cell: ({ createdOn }) => <Time at={createdOn} /> },
    {
      id: 'answer',
      title: text.answer,
      cell: (one) => <State kind={DELIVERY_STATES[one.state]}>{one.statusCode ?? text.states[one.state]}</State>,
    },
    {
      id: 'event',
      title: text.event,
      cell: (one) => (
        <RowButton of={whichOf(one)} onClick={() => choose(one.id)}>
          <code>{breakable(`${one.type} ${one.event}`)}</code>
        </RowButton>
      ),
    },
    {
      id: 'subject',
      title: text.subject,
      priority: 2,
      cell: ({ subject }) =>
        subject && (
          <code class="clamp" title={subject}>
            {subject}
          </code>
        ),
    },
    {
      id: 'took',
      title: text.took,
      kind: 'number',
      priority: 3,
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
            label={text.again(`${one.type} ${one.event}`, whichOf(one))}
            onClick={() => orToast(again(one))}
          />
        ),
    },
  ]
}
