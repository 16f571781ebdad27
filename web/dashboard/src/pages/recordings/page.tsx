import { useState } from 'preact/hooks'
import {
  type Answer,
  deleteRecording,
  downloadRecording,
  listRecordings,
  readRecordingThumbnail,
  readStorage,
  signRecording,
} from '#api/tokens.ts'
import { addressOf, call, callPage } from '../../api/call.ts'
import { useLoad, useWalk } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { recordingEdits } from '../../live.ts'
import { Button, LinkButton } from '../../parts/button.tsx'
import { chooseColumn } from '../../parts/choose.tsx'
import { CopyField } from '../../parts/copy.tsx'
import { Confirm, Dialog } from '../../parts/dialog.tsx'
import { Segment } from '../../parts/form.tsx'
import { Menu } from '../../parts/menu.tsx'
import { Bones, Empty, LoadError } from '../../parts/notice.tsx'
import { Page, Pairs } from '../../parts/page.tsx'
import { SearchField } from '../../parts/search.tsx'
import { State, type StateKind } from '../../parts/state.tsx'
import { type Column, More, Table } from '../../parts/table.tsx'
import { toast } from '../../parts/toast.tsx'
import { bytes, count, duration, moment, Time } from '../../parts/values.tsx'
import { linkTo, type PageArgs, setQuery } from '../../router.ts'
import { canChange } from '../../session.ts'
import { EACH_SPAN, type Span, SPANS } from '../../spans.ts'
import { isolated } from '../../words/complete.ts'
import { noticeWords } from '../../words/noticeWords.ts'
import { words } from '../../words/words.ts'
import { CsvButton } from '../analytics/csvButton.tsx'
import { useUnderWay } from './underWay.ts'
import '../../parts/screen.css'
import './recordings.css'

const text = words.recordings

const PER_PAGE = 50

type Recording = Answer<typeof listRecordings>[number]

const STATES: Readonly<Record<Recording['state'], StateKind>> = {
  recording: 'live',
  processing: 'busy',
  completed: 'ok',
  error: 'error',
}

const isReady = ({ state }: Recording): boolean => state === 'completed'

/** What the list shows of them, for a spreadsheet. */
const csvOf = (recordings: readonly Recording[]): (string | number)[][] => [
  ['id', 'streamName', 'state', 'startedOn', 'durationMs', 'bytes', 'expiresOn'],
  ...recordings.map(({ id, streamName, state, startedOn, durationMs = '', bytes: size = '', expiresOn = '' }) => [
    id,
    streamName,
    state,
    startedOn,
    durationMs,
    size,
    expiresOn,
  ]),
]

const fileOf = ({ id }: Recording): string => addressOf(downloadRecording, { path: { recordingId: id } })

/** Saves a file of the server without leaving the page, also when the server refuses. */
const saveAs = (href: string): void => Object.assign(document.createElement('a'), { href, download: '' }).click()

/** Recordings, newest first: play, download, delete. */
export function RecordingsPage({ query }: PageArgs) {
  const streamName = query.get('stream') ?? ''
  const search = query.get('search') ?? ''
  const list = useWalk(
    (cursor, signal) =>
      callPage(
        listRecordings,
        { query: { streamName: streamName || undefined, search: search || undefined, limit: PER_PAGE, cursor } },
        { signal },
      ),
    [streamName, search],
  )
  useFollow(recordingEdits, list.reload)
  useUnderWay(list.data, list.reload)
  const [played, setPlayed] = useState<Recording | null>(null)
  const [linked, setLinked] = useState<Recording | null>(null)
  const [doomed, setDoomed] = useState<readonly Recording[]>([])
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const selected = (list.data ?? []).filter(({ id }) => chosen.has(id))
  return (
    <Page title={text.title} sub={text.sub} actions={<Space ready={list.data?.filter(isReady).length ?? 0} />}>
      <section class="card" aria-label={text.title}>
        <div class="tools">
          <SearchField
            label={text.search}
            placeholder={text.searchHint}
            value={search || streamName}
            onSearch={(part) => setQuery({ search: part || undefined, stream: undefined })}
          />
          {selected.length > 0 && <Selected recordings={selected} onDelete={() => setDoomed(selected)} />}
        </div>
        {list.error && <LoadError error={list.error} onRetry={list.reload} />}
        {!list.data && !list.error && <Bones rows={4} />}
        {list.data?.length === 0 && <Nothing search={search} streamName={streamName} />}
        {list.data && list.data.length > 0 && (
          <Table
            caption={text.caption}
            rows={list.data}
            keyOf={({ id }) => id}
            columns={columnsOf(
              { play: setPlayed, link: setLinked, doom: (one) => setDoomed([one]), chosen, onChosen: setChosen },
              list.data,
            )}
          />
        )}
        {list.data && (
          <div class="card-foot">
            <More count={list.data.length} hasMore={list.hasMore} isBusy={list.isLoading} onMore={list.more} />
            {list.data.length > 0 && <CsvButton name="sluice-recordings.csv" of={text.title} rows={csvOf(list.data)} />}
          </div>
        )}
      </section>
      {played && <Player recording={played} onClose={() => setPlayed(null)} />}
      {linked && <Link recording={linked} onClose={() => setLinked(null)} />}
      {doomed.length > 0 && <Deletion recordings={doomed} onChanged={list.reload} onClose={() => setDoomed([])} />}
    </Page>
  )
}

interface SelectedProps {
  readonly recordings: readonly Recording[]
  readonly onDelete: () => void
}

/** What the chosen ones take together, and what can be done with them all. */
function Selected({ recordings, onDelete }: SelectedProps) {
  const size = recordings.reduce((sum, one) => sum + (one.bytes ?? 0), 0)
  return (
    <div class="actions end" role="group" aria-label={words.parts.selected(recordings.length)}>
      <span class="note num">
        {words.parts.selected(recordings.length)} · {bytes(size)}
      </span>
      <Button size="small" look="danger" icon="trash" onClick={onDelete}>
        {words.tokens.delete}
      </Button>
    </div>
  )
}

interface DeletionProps {
  readonly recordings: readonly Recording[]
  readonly onChanged: () => void
  readonly onClose: () => void
}

function Deletion({ recordings, onChanged, onClose }: DeletionProps) {
  const { length } = recordings
  const name = recordings[0]?.streamName ?? ''
  const remove = async (): Promise<void> => {
    try {
      for (const { id } of recordings) await call(deleteRecording, { path: { recordingId: id } })
    } finally {
      onChanged()
    }
    toast(length === 1 ? text.deleted(name) : text.deletedMany(length))
  }
  return (
    <Confirm
      title={length === 1 ? text.deleteTitle(name) : text.deleteTitles(length)}
      verb={text.delete}
      onConfirm={remove}
      onClose={onClose}
    >
      {text.deleteText}
    </Confirm>
  )
}

function Nothing({ search, streamName }: { readonly search: string; readonly streamName: string }) {
  const isNarrowed = search !== '' || streamName !== ''
  const action = isNarrowed ? (
    <LinkButton href={linkTo('/recordings')}>{words.streams.showAll}</LinkButton>
  ) : (
    canChange() && <LinkButton href={linkTo('/tokens/publish')}>{words.tokens.kinds.publish.list}</LinkButton>
  )
  const named = search === '' ? text.noneOf(streamName) : text.noneWith(search)
  return (
    <Empty title={text.none} action={action}>
      {isNarrowed ? named : text.noneText}
    </Empty>
  )
}

/** What the recordings of the account take, and what is left for more. It changes with the list. */
function Space({ ready }: { readonly ready: number }) {
  const { data } = useLoad((signal) => call(readStorage, {}, { signal }), [ready])
  if (!data || data.recordings.count === 0) return null
  const { count: files, bytes: used, disk } = data.recordings
  return <p class="note num">{text.space(count(files), bytes(used), disk && bytes(disk.freeBytes))}</p>
}

/** What the menu of a recording opens, and which of them are chosen. */
interface Choices {
  readonly play: (one: Recording) => void
  readonly link: (one: Recording) => void
  readonly doom: (one: Recording) => void
  readonly chosen: ReadonlySet<string>
  readonly onChosen: (chosen: ReadonlySet<string>) => void
}

const nameOf = ({ streamName, startedOn }: Recording): string => `${isolated(streamName)}, ${moment(startedOn)}`

const goesColumn: Column<Recording> = {
  id: 'goes',
  title: text.goes,
  priority: 3,
  cell: ({ expiresOn }) => (expiresOn === undefined ? '–' : <Time at={expiresOn} isWhole />),
}

/** The list says when recordings are deleted by themselves, if any is. */
function columnsOf(choices: Choices, rows: readonly Recording[]): Column<Recording>[] {
  const anyGoes = rows.some(({ expiresOn }) => expiresOn !== undefined)
  return [
    ...(canChange() ? [chooseColumn({ rows, keyOf: ({ id }) => id, nameOf, ...choices })] : []),
    {
      id: 'stream',
      title: text.stream,
      cell: (one) => (
        <div class="thumb">
          <Thumbnail recording={one} />
          <div>
            <b class="clamp" title={one.streamName}>
              {one.streamName}
            </b>
            <span class="sub only-narrow num">
              <Time at={one.startedOn} isWhole />
            </span>
          </div>
        </div>
      ),
    },
    {
      id: 'state',
      title: text.state,
      cell: (one) => (
        <>
          <State kind={STATES[one.state]}>{text.states[one.state]}</State>
          {one.problem && <span class="sub recording-reason">{noticeWords(one.problem, one.problemSentences)}</span>}
        </>
      ),
    },
    { id: 'began', title: text.began, priority: 2, cell: ({ startedOn }) => <Time at={startedOn} isWhole /> },
    {
      id: 'length',
      title: text.length,
      kind: 'number',
      priority: 2,
      cell: ({ durationMs }) => (durationMs === undefined ? '–' : duration(durationMs / 1000)),
    },
    {
      id: 'size',
      title: text.size,
      kind: 'number',
      priority: 3,
      cell: (one) => (one.bytes === undefined ? '–' : bytes(one.bytes)),
    },
    ...(anyGoes ? [goesColumn] : []),
    {
      id: 'actions',
      title: words.parts.actions,
      kind: 'actions',
      cell: (one) => <Actions recording={one} {...choices} />,
    },
  ]
}

/** A frame of the recording. The place is there without one, so that nothing jumps. */
function Thumbnail({ recording: { id, thumbnailUrl } }: { readonly recording: Recording }) {
  const [isMissing, setMissing] = useState(false)
  const path = { recordingId: id }
  return (
    <span class="place">
      {thumbnailUrl !== undefined && !isMissing && (
        <img src={addressOf(readRecordingThumbnail, { path })} alt="" loading="lazy" onError={() => setMissing(true)} />
      )}
    </span>
  )
}

function Actions({ recording, play, link, doom }: Choices & { readonly recording: Recording }) {
  const items = [
    ...(isReady(recording)
      ? [
          { icon: 'play' as const, text: text.play, onSelect: () => play(recording) },
          { icon: 'download' as const, text: text.download, onSelect: () => saveAs(fileOf(recording)) },
        ]
      : []),
    ...(isReady(recording) && canChange()
      ? [{ icon: 'copy' as const, text: text.copyLink, onSelect: () => link(recording) }]
      : []),
    ...(canChange()
      ? [{ icon: 'trash' as const, text: text.delete, isDanger: true, onSelect: () => doom(recording) }]
      : []),
  ]
  return items.length > 0 ? (
    <Menu label={`${words.parts.moreFor(recording.streamName)}, ${moment(recording.startedOn)}`} items={items} />
  ) : null
}

function Player({ recording, onClose }: { readonly recording: Recording; readonly onClose: () => void }) {
  return (
    <Dialog title={recording.streamName} onClose={onClose} foot={<Button onClick={onClose}>{text.close}</Button>}>
      <video class="screen" controls autoplay playsInline src={fileOf(recording)} />
    </Dialog>
  )
}

/** A link that plays the recording without signing in. */
function Link({ recording, onClose }: { readonly recording: Recording; readonly onClose: () => void }) {
  const [life, setLife] = useState<Span>('day')
  const { data, error, reload } = useLoad(
    (signal) =>
      call(signRecording, { path: { recordingId: recording.id }, body: { expiresInSeconds: SPANS[life] } }, { signal }),
    [recording.id, life],
  )
  return (
    <Dialog title={recording.streamName} onClose={onClose} foot={<Button onClick={onClose}>{text.close}</Button>}>
      <p>{text.linkText}</p>
      <Segment
        label={text.linkLife}
        choices={EACH_SPAN.map((one) => [one, text.linkLives[one]] as const)}
        value={life}
        onChange={setLife}
      />
      {error && <LoadError error={error} onRetry={reload} />}
      {data ? (
        <>
          <CopyField label={text.link} what={text.link} value={data.url} />
          <Pairs rows={[[words.tokens.sign.expires, <Time at={data.expiresOn} isWhole />]]} />
        </>
      ) : (
        !error && <Bones rows={1} />
      )}
    </Dialog>
  )
}
