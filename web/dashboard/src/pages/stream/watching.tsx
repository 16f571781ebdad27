import { useState } from 'preact/hooks'
import { type Answer, endSession, listSessions } from '#api/tokens.ts'
import { call, callPage } from '../../api/call.ts'
import { useWalk } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { sessionNews } from '../../live.ts'
import { IconButton } from '../../parts/button.tsx'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { type Column, More, Table } from '../../parts/table.tsx'
import { orToast, toast } from '../../parts/toast.tsx'
import { bytes, count, moment, seconds, Since } from '../../parts/values.tsx'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'

const text = words.stream
const played = words.analytics.quality

type Session = Answer<typeof listSessions>[number]

/** Players report once a minute. */
const REPORTS = { slowMs: 30_000 }

/** The viewers of a stream. `viewers`: their number now. */
export function Watching({ streamName, viewers }: { readonly streamName: string; readonly viewers: number }) {
  const [ended, setEnded] = useState<ReadonlySet<string>>(new Set())
  const list = useWalk(
    (cursor, signal) =>
      callPage(listSessions, { query: { streamName, action: 'view', limit: 50, cursor } }, { signal }),
    [streamName],
  )
  useFollow(sessionNews, list.reload, REPORTS)
  const end = async ({ id, address }: Session): Promise<void> => {
    await call(endSession, { path: { sessionId: id } })
    setEnded((before) => new Set([...before, id]))
    toast(text.sessionEnded(address))
  }
  const rows = (list.data ?? []).filter(({ id }) => !ended.has(id))
  return (
    <Card
      title={
        <>
          {text.watching} <span class="faint num">{count(viewers)}</span>
        </>
      }
      foot={list.data && <More count={rows.length} hasMore={list.hasMore} isBusy={list.isLoading} onMore={list.more} />}
      isFlush
    >
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      {!list.data && !list.error && <Bones />}
      {list.data && rows.length === 0 && <p class="pad note">{text.noViewer}</p>}
      {rows.length > 0 && (
        <Table caption={text.watchingCaption(streamName)} rows={rows} keyOf={({ id }) => id} columns={columnsOf(end)} />
      )}
    </Card>
  )
}

const none = <span class="faint">–</span>

const startOf = (quality: Session['quality']): string =>
  quality?.startFailure ? played.reasons[quality.startFailure] : seconds(quality?.startSeconds ?? null)

function stalledOf(quality: Session['quality']): string {
  const { stalls = null, stalledSeconds = null } = quality ?? {}
  if (stalls === null) return seconds(null)
  return stalls === 0 || stalledSeconds === null
    ? count(stalls)
    : played.stallsFor(count(stalls), seconds(stalledSeconds))
}

const hostOf = (origin: string): string => (URL.canParse(origin) ? new URL(origin).host : origin)

function columnsOf(end: (one: Session) => Promise<void>): Column<Session>[] {
  return [
    {
      id: 'address',
      title: text.address,
      cell: ({ address, country, protocol }) => (
        <>
          <code>{address}</code> {country && <span class="tag">{country}</span>}
          <span class="sub only-narrow">{protocol.toUpperCase()}</span>
        </>
      ),
    },
    { id: 'protocol', title: text.protocol, priority: 2, cell: ({ protocol }) => protocol.toUpperCase() },
    { id: 'site', title: text.site, priority: 2, cell: ({ origin }) => (origin ? hostOf(origin) : none) },
    { id: 'tracking', title: text.trackingId, priority: 3, cell: ({ trackingId }) => trackingId ?? none },
    { id: 'for', title: text.since, kind: 'number', cell: ({ startedOn }) => <Since since={startedOn} /> },
    { id: 'sent', title: text.sent, kind: 'number', priority: 2, cell: ({ bytesOut }) => bytes(bytesOut) },
    { id: 'start', title: played.start, kind: 'number', priority: 3, cell: ({ quality }) => startOf(quality) },
    { id: 'stalls', title: played.stallsTitle, kind: 'number', priority: 3, cell: ({ quality }) => stalledOf(quality) },
    {
      id: 'behind',
      title: played.behind,
      kind: 'number',
      priority: 3,
      cell: ({ quality }) => seconds(quality?.behindSeconds ?? null),
    },
    ...(canChange()
      ? [
          {
            id: 'actions',
            title: words.parts.actions,
            kind: 'actions' as const,
            cell: (one: Session) => (
              <IconButton
                icon="close"
                label={text.endSession(one.address, moment(one.startedOn))}
                onClick={() => orToast(end(one))}
              />
            ),
          },
        ]
      : []),
  ]
}
