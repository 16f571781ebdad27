import { useState } from 'preact/hooks'
import { type Answer, type readConfiguration, reloadNode } from '#api/tokens.ts'
import { ApiError, asApiError, call } from '../../../api/call.ts'
import { Button } from '../../../parts/button.tsx'
import { Segment } from '../../../parts/form.tsx'
import { LoadError, Notice } from '../../../parts/notice.tsx'
import { Card } from '../../../parts/page.tsx'
import { SearchField } from '../../../parts/search.tsx'
import { type Column, Table } from '../../../parts/table.tsx'
import { setQuery } from '../../../router.ts'
import { aboutKey } from '../../../words/configurationWords.ts'
import { settingsWords } from '../../../words/settingsWords.ts'
import './server.css'

const text = settingsWords.server.configuration

type Configuration = Answer<typeof readConfiguration>
type Key = Configuration['keys'][number]

/** Every key with its value and where that comes from; at first those that are set. */
export function ConfigurationCard(props: {
  readonly configuration: Configuration
  readonly query: URLSearchParams
  readonly onReloaded: () => void
}) {
  const { node, keys, waiting, problems } = props.configuration
  const { isBusy, outcome, reload } = useReload(node, props.onReloaded)
  const search = (props.query.get('search') ?? '').slice(0, 128)
  const showsAll = props.query.get('keys') === 'all'
  const shown = keys.filter((key) => (showsAll || search !== '' || isSet(key)) && matches(key, search))
  return (
    <Card
      title={text.title}
      aside={
        <Button size="small" isBusy={isBusy} onClick={reload} title={text.reloadAbout}>
          {text.reloadNow}
        </Button>
      }
      isFlush
      foot={<span class="num">{text.shown(shown.length, keys.length)}</span>}
    >
      <Since waiting={waiting} problems={problems} />
      <Reload outcome={outcome} onRetry={reload} />
      <div class="tools">
        <SearchField
          label={text.search}
          placeholder={text.searchHint}
          value={search}
          onSearch={(next) => setQuery({ search: next || undefined })}
        />
        <Segment
          label={text.which}
          choices={[
            ['set', text.set],
            ['all', text.all],
          ]}
          value={showsAll ? 'all' : 'set'}
          onChange={(which) => setQuery({ keys: which === 'all' ? 'all' : undefined })}
        />
      </div>
      {shown.length === 0 ? (
        <p class="pad note">{search === '' ? text.nothingSet : text.noMatch}</p>
      ) : (
        <Table caption={text.title} rows={shown} keyOf={({ key }) => key} columns={COLUMNS} />
      )}
    </Card>
  )
}

const isSet = ({ source }: Key): boolean => source !== 'default'

const matches = ({ key, about, variable }: Key, search: string): boolean =>
  [key, about, aboutKey({ key, about }), variable].some((one) => one.toLowerCase().includes(search.toLowerCase()))

type Outcome = Answer<typeof reloadNode> | ApiError | null

/** Lets the node read its sources again. */
function useReload(node: string, onDone: () => void) {
  const [isBusy, setBusy] = useState(false)
  const [outcome, setOutcome] = useState<Outcome>(null)
  const reload = async (): Promise<void> => {
    setBusy(true)
    setOutcome(await call(reloadNode, { path: { nodeId: node } }).catch(asApiError))
    setBusy(false)
    onDone()
  }
  return { isBusy, outcome, reload: () => void reload() }
}

/** What became of a reload. */
const Reload = ({ outcome, onRetry }: { readonly outcome: Outcome; readonly onRetry: () => void }) => (
  <div role="status">
    {outcome !== null && (
      <div class="pad stack">
        {outcome instanceof ApiError ? <LoadError error={outcome} onRetry={onRetry} /> : <Reloaded {...outcome} />}
      </div>
    )}
  </div>
)

function Reloaded({ ok, applied, problems }: Answer<typeof reloadNode>) {
  if (!ok) return <Notice kind="error">{text.refused(problems.join(' · '))}</Notice>
  return <p class="note">{applied.length === 0 ? text.nothingNew : text.applied(keysOf(applied))}</p>
}

const keysOf = (changes: readonly { readonly key: string }[]): string => changes.map(({ key }) => key).join(', ')

/** What became of the sources since the node read them. */
function Since({ waiting, problems }: Pick<Configuration, 'waiting' | 'problems'>) {
  return (
    <>
      {problems.length > 0 && (
        <div class="pad stack">
          <Notice kind="error">
            <b>{text.broken}</b> {problems.join(' · ')}
          </Notice>
        </div>
      )}
      {waiting.reload.length > 0 && (
        <div class="pad stack">
          <Notice kind="warn">{text.waitsForReload(waiting.reload.join(', '))}</Notice>
        </div>
      )}
      {waiting.restart.length > 0 && (
        <div class="pad stack">
          <Notice kind="warn">{text.waitsForRestart(waiting.restart.join(', '))}</Notice>
        </div>
      )}
    </>
  )
}

function Value({ value, isSecret, source }: Key) {
  if (isSecret) return <span class="tag">{source === 'default' ? text.notSet : text.hidden}</span>
  if (typeof value === 'boolean') return <>{value ? text.on : text.off}</>
  const shown = Array.isArray(value) ? value.join(', ') : String(value)
  return shown === '' ? <span class="faint">{text.empty}</span> : <code class="setting">{shown}</code>
}

/** A sentence in which backticks enclose code. */
const About = (props: { readonly text: string }) => (
  <>{props.text.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>
)

const sourceOf = ({ source, sourceName }: Key): string =>
  source === 'file' || source === 'environment' ? (sourceName ?? '') : text.sources[source]

const COLUMNS: readonly Column<Key>[] = [
  {
    id: 'key',
    title: text.key,
    cell: (row) => (
      <>
        <code>{row.key}</code>
        <span class="sub">
          <About text={aboutKey(row)} />
        </span>
        <span class="only-narrow">
          <Value {...row} /> <span class="sub setting">{sourceOf(row)}</span>
        </span>
      </>
    ),
  },
  { id: 'value', title: text.value, priority: 2, cell: Value },
  {
    id: 'source',
    title: text.source,
    priority: 2,
    // Long names of variables go on in another line.
    cell: (row) =>
      sourceOf(row)
        .split(/(?<=_)/)
        .flatMap((part, at) => [part, <wbr key={at} />]),
  },
  {
    id: 'change',
    title: text.change,
    priority: 3,
    cell: ({ needsRestart }) => (needsRestart ? text.restart : text.reload),
  },
]
