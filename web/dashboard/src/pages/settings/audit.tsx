import { useEffect, useRef, useState } from 'preact/hooks'
import { type Answer, listAudit } from '#api/dashboard.ts'
import { callCsv, callPage } from '../../api/call.ts'
import { useWalk } from '../../api/load.ts'
import { Button, RowButton } from '../../parts/button.tsx'
import { Code } from '../../parts/copy.tsx'
import { TextField } from '../../parts/form.tsx'
import { useInView } from '../../parts/inView.ts'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { type Column, More, Table } from '../../parts/table.tsx'
import { orToast } from '../../parts/toast.tsx'
import { breakable, moment, Time } from '../../parts/values.tsx'
import { linkTo, type PageArgs, setQuery } from '../../router.ts'
import { words } from '../../words/words.ts'
import { saveFile } from '../analytics/csv.ts'
import { SettingsFrame } from './tabs.tsx'

const text = words.settings

type Entry = Answer<typeof listAudit>[number]

/** Who changed what, newest first. */
export function AuditPage({ query }: PageArgs) {
  const [actor, action] = [query.get('actor') ?? '', query.get('action') ?? '']
  const asked = { actor: actor || undefined, action: action || undefined }
  const list = useWalk(
    (cursor, signal) => callPage(listAudit, { query: { ...asked, cursor } }, { signal }),
    [actor, action],
  )
  const [chosen, setChosen] = useState<Entry | null>(null)
  const save = async (): Promise<void> => saveFile('sluice-audit.csv', await callCsv(listAudit, { query: asked }))
  return (
    <SettingsFrame path="/settings/audit">
      <Card
        title={text.audit}
        isFlush
        aside={
          <Button size="small" icon="download" onClick={() => orToast(save())}>
            {words.analytics.csv}
          </Button>
        }
        foot={
          list.data && (
            <More count={list.data.length} hasMore={list.hasMore} isBusy={list.isLoading} onMore={list.more} />
          )
        }
      >
        <div class="tools">
          <Filter label={text.actor} name="actor" placeholder={text.actorHint} value={actor} />
          <Filter label={text.action} name="action" placeholder={text.actionHint} value={action} />
        </div>
        {list.error && <LoadError error={list.error} onRetry={list.reload} />}
        {!list.data && !list.error && <Bones />}
        {list.data?.length === 0 && <p class="pad note">{text.noAudit}</p>}
        {list.data && list.data.length > 0 && (
          <Table
            caption={text.audit}
            rows={list.data}
            keyOf={({ id }) => id}
            isChosen={({ id }) => id === chosen?.id}
            columns={columnsOf(setChosen)}
          />
        )}
        {chosen && <Change entry={chosen} />}
      </Card>
    </SettingsFrame>
  )
}

interface FilterProps {
  readonly label: string
  readonly name: 'actor' | 'action'
  readonly placeholder: string
  readonly value: string
}

/** The API takes whole values only, so a filter waits for Enter. */
function Filter({ label, name, placeholder, value }: FilterProps) {
  const [typed, setTyped] = useState(value)
  const shown = useRef(value)
  // Another page of the history has another value. At first it is there, and something may have been typed already.
  useEffect(() => {
    if (shown.current !== value) setTyped(value)
    shown.current = value
  }, [value])
  const submit = (event: Event): void => {
    event.preventDefault()
    setQuery({ [name]: typed.trim() || undefined })
  }
  return (
    <form onSubmit={submit}>
      <TextField label={label} placeholder={placeholder} value={typed} onValue={setTyped} />
    </form>
  )
}

const nameOf = ({ actor }: Entry): string =>
  actor.name ?? (actor.id === undefined ? actor.kind : `${actor.kind} ${actor.id}`)

/** The page of what was changed, by the first part of the action; others have none. */
const PAGE_OF: Readonly<Record<string, string>> = {
  publish_token: '/tokens/publish',
  subscribe_token: '/tokens/subscribe',
  channel: '/channels',
}

function Subject({ action, subject }: Entry) {
  const page = /\.deleted?$/.test(action) ? undefined : PAGE_OF[action.split('.')[0] ?? '']
  const shown = <code>{subject}</code>
  return page === undefined ? shown : <a href={linkTo(`${page}/${encodeURIComponent(subject)}`)}>{shown}</a>
}

const columnsOf = (choose: (entry: Entry) => void): Column<Entry>[] => [
  { id: 'at', title: words.parts.time, cell: ({ at }) => <Time at={at} /> },
  {
    id: 'action',
    title: text.action,
    cell: (entry) => (
      <RowButton of={`${entry.subject} ${moment(entry.at)}`} onClick={() => choose(entry)}>
        <code>{breakable(entry.action)}</code>
      </RowButton>
    ),
  },
  { id: 'subject', title: text.subject, priority: 2, cell: Subject },
  { id: 'actor', title: text.actor, cell: (entry) => <span class="clamp">{nameOf(entry)}</span> },
  { id: 'address', title: text.address, priority: 3, cell: ({ address }) => address ?? '' },
]

function Change({ entry }: { readonly entry: Entry }) {
  const sides = [
    [text.before, entry.before],
    [text.after, entry.after],
  ] as const
  const root = useInView(String(entry.id))
  return (
    <div class="pad stack lined opened" role="region" aria-label={entry.action} ref={root}>
      <div class="cols half">
        {sides.map(([title, value]) => (
          <div key={title} class="section">
            <h3>{title}</h3>
            <div class="block">
              <Code code={value === undefined ? '–' : JSON.stringify(value, null, 2)} what={title} />
            </div>
          </div>
        ))}
      </div>
    </div>
  )
}
