import { useEffect, useRef, useState } from 'preact/hooks'
import {
  type ChannelWebhook,
  listChannelWebhookLogs,
  type LogEntry,
  redeliverChannelWebhookEvent,
} from '#api/channels.ts'
import { call, callPage } from '../../api/call.ts'
import { useWalk } from '../../api/load.ts'
import { IconButton, RowButton } from '../../parts/button.tsx'
import { CodeBlock } from '../../parts/copy.tsx'
import { useInView } from '../../parts/inView.ts'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card, Pairs } from '../../parts/page.tsx'
import { type PastRange, useSince } from '../../parts/pastRange.ts'
import { PastRangeSelect } from '../../parts/pastRangeSelect.tsx'
import { State } from '../../parts/state.tsx'
import { type Column, More, Table } from '../../parts/table.tsx'
import { orToast, toast } from '../../parts/toast.tsx'
import { breakable, count, moment, Time } from '../../parts/values.tsx'
import { canChange } from '../../session.ts'
import { channelWords } from '../../words/channelWords.ts'
import { noticeWords } from '../../words/noticeWords.ts'
import { words } from '../../words/words.ts'
import { Attempts } from './attempts.tsx'
import { healthOf } from './channelEvents.ts'
import { DELIVERY_STATES } from './states.ts'
import './webhooks.css'

const text = channelWords.channelWebhooks
const common = words.webhooks
/** How often the log is read until an entry that is expected is there, and how many times at most. */
const LOOK_MS = 1000
const MOST_LOOKS = 40

interface ChannelLogProps {
  readonly webhook: ChannelWebhook
  /** The entry that a test or a redelivery makes when its attempt has ended. */
  readonly awaitedId: string | null
  readonly onSent: (logId: string) => void
}

/** What was sent to a webhook of channels, newest first, attempt by attempt. */
export function ChannelLog({ webhook, awaitedId, onSent }: ChannelLogProps) {
  const path = { webhookId: webhook.id }
  const [range, setRange] = useState<PastRange>('all')
  const since = useSince(range)
  const list = useWalk(
    (cursor, signal) =>
      callPage(listChannelWebhookLogs, { path, query: { startDate: since(cursor), cursor } }, { signal }),
    [webhook.id, range],
  )
  useAwaited(awaitedId, list.data, list.reload)
  const [chosenId, setChosenId] = useState<string | null>(null)
  const chosen = list.data?.find(({ id }) => id === chosenId)
  const again = async ({ id }: LogEntry): Promise<void> => {
    const sent = await call(redeliverChannelWebhookEvent, { path: { ...path, logId: id } })
    toast(text.requested)
    onSent(sent.id)
  }
  return (
    <Card
      title={text.log}
      isFlush
      aside={<PastRangeSelect value={range} onChange={setRange} />}
      foot={
        list.data && <More count={list.data.length} hasMore={list.hasMore} isBusy={list.isLoading} onMore={list.more} />
      }
    >
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      {!list.data && !list.error && <Bones />}
      {list.data?.length === 0 && <p class="pad note">{text.noLog}</p>}
      {list.data && <Health rows={list.data} />}
      {list.data && list.data.length > 0 && (
        <Table
          caption={text.logCaption}
          rows={list.data}
          keyOf={({ id }) => id}
          isChosen={({ id }) => id === chosenId}
          columns={columnsOf(({ id }) => setChosenId(id), again)}
        />
      )}
      {chosen && <Detail entry={chosen} all={list.data ?? []} onChoose={setChosenId} />}
    </Card>
  )
}

function Health({ rows }: { readonly rows: readonly LogEntry[] }) {
  const health = healthOf(rows)
  if (health === null) return null
  return (
    <p class="pad">
      <State kind={health.kind}>{text.health(health.delivered, health.all)}</State>
    </p>
  )
}

/** Reads the log again until the awaited entry is in it, or for long enough. */
function useAwaited(id: string | null, rows: readonly LogEntry[] | undefined, reload: () => void): void {
  const looks = useRef({ id, count: 0 })
  if (looks.current.id !== id) looks.current = { id, count: 0 }
  useEffect(() => {
    if (id === null || rows?.some((row) => row.id === id) || looks.current.count >= MOST_LOOKS) return undefined
    looks.current.count += 1
    const timer = setTimeout(reload, LOOK_MS)
    return () => clearTimeout(timer)
  }, [id, rows, reload])
}

/** Tells entries of the same type apart: what the event was about, and when it was sent. */
function whichOf({ requestData, timestamp }: LogEntry): string {
  const { object } = requestData as { readonly object?: { readonly name?: string } }
  return `${object?.name ?? ''} ${moment(timestamp)}`.trim()
}

function columnsOf(choose: (one: LogEntry) => void, again: (one: LogEntry) => Promise<void>): Column<LogEntry>[] {
  return [
    { id: 'time', title: words.parts.time, cell: ({ timestamp }) => <Time at={timestamp} /> },
    {
      id: 'answer',
      title: common.answer,
      cell: ({ state, statusCode }) => (
        <State kind={DELIVERY_STATES[state]}>{statusCode === 0 ? common.states[state] : statusCode}</State>
      ),
    },
    {
      id: 'event',
      title: common.event,
      cell: (one) => (
        <RowButton of={whichOf(one)} onClick={() => choose(one)}>
          <code>{breakable(one.type)}</code>
        </RowButton>
      ),
    },
    { id: 'attempt', title: text.attempt, kind: 'number', priority: 3, cell: ({ attempt }) => attempt },
    {
      id: 'took',
      title: common.took,
      kind: 'number',
      priority: 2,
      cell: ({ durationMs }) => `${count(durationMs)} ms`,
    },
    {
      id: 'actions',
      title: words.parts.actions,
      kind: 'actions',
      cell: (one) =>
        canChange() && (
          <IconButton icon="refresh" label={common.again(one.type, whichOf(one))} onClick={() => orToast(again(one))} />
        ),
    },
  ]
}

interface DetailProps {
  readonly entry: LogEntry
  /** The loaded entries, among them other attempts with the same event. */
  readonly all: readonly LogEntry[]
  readonly onChoose: (id: string) => void
}

function Detail({ entry, all, onChoose }: DetailProps) {
  const root = useInView(entry.id)
  const attempts = all
    .filter(({ eventId }) => eventId === entry.eventId)
    .map(({ id, timestamp, state, statusCode, attempt, redeliveryOf }) => ({
      id,
      at: timestamp,
      state,
      statusCode: statusCode || undefined,
      note: redeliveryOf ? common.sentOnceMore : text.attemptOf(attempt),
    }))
  return (
    <div class="pad stack lined opened" role="region" aria-label={common.delivery} ref={root}>
      <Pairs
        rows={[
          [common.eventId, <code>{entry.eventId}</code>],
          ...(entry.redeliveryOf ? [[common.redeliveryOf, <code>{entry.redeliveryOf}</code>] as const] : []),
          ...(entry.error ? [[common.problem, noticeWords(entry.error, entry.errorSentences)] as const] : []),
        ]}
      />
      <Attempts attempts={attempts} chosenId={entry.id} onChoose={onChoose} />
      <div class="section">
        <h3>{text.body}</h3>
        <CodeBlock what={text.body} code={JSON.stringify(entry.requestData, null, 2)} />
      </div>
    </div>
  )
}
