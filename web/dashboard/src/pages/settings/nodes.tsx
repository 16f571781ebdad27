import { type Answer, listNodes } from '#api/tokens.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useEvery } from '../../follow.ts'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card, Pairs } from '../../parts/page.tsx'
import { State } from '../../parts/state.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { bitrate, count, Since, Time } from '../../parts/values.tsx'
import { linkTo } from '../../router.ts'
import { settingsWords } from '../../words/settingsWords.ts'
import { SettingsFrame } from './tabs.tsx'

const text = settingsWords.nodes

type Listed = Answer<typeof listNodes>
type Node = Listed['nodes'][number]

/** Nodes renew their leases every few seconds. */
const AGAIN_MS = 5000

/** The processes that serve: who they are, and what they do. */
export function NodesPage() {
  const list = useLoad((signal) => call(listNodes, {}, { signal }), [])
  useEvery(AGAIN_MS, list.reload)
  return (
    <SettingsFrame path="/settings/nodes">
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      {!list.data && !list.error && <Bones />}
      {list.data && <Nodes {...list.data} />}
    </SettingsFrame>
  )
}

function Nodes({ database, nodes }: Listed) {
  const [only, ...others] = nodes
  if (only && others.length === 0) return <OnlyNode node={only} database={database} />
  return (
    <Card title={text.title} aside={<span class="note num">{nodes.length}</span>} isFlush>
      <Table caption={text.title} rows={nodes} keyOf={({ id }) => id} isChosen={isThis} columns={COLUMNS} />
    </Card>
  )
}

const isThis = (node: Node): boolean => node.isThis

const KINDS = { draining: 'busy', silent: 'error' } as const

/** A node that is full serves those who watch, and refuses new viewers. */
function NodeState({ state, full = [] }: Pick<Node, 'state' | 'full'>) {
  if (state !== 'serving') return <State kind={KINDS[state]}>{text.states[state]}</State>
  if (full.length === 0) return <State kind="ok">{text.states.serving}</State>
  return (
    <>
      <State kind="warn">{text.full}</State>
      <span class="sub">{full.map((reason) => text.whyFull[reason]).join(', ')}</span>
    </>
  )
}

const media = ({ mediaPercent }: Node): string => (mediaPercent === undefined ? '–' : text.media(mediaPercent))

const load = ({ bitrateIn, bitrateOut }: Node): string => text.load(bitrate(bitrateIn), bitrate(bitrateOut))

/** Streams that it shares with other nodes, and why some do not come. */
function Links({ links = [] }: Pick<Node, 'links'>) {
  if (links.length === 0) return <span class="faint">–</span>
  const sum = (name: 'lent' | 'relayed' | 'borrowed' | 'bitrateOut' | 'bitrateIn'): number =>
    links.reduce((total, link) => total + link[name], 0)
  const problems = [...new Set(links.flatMap(({ problem }) => problem ?? []))]
  return (
    <>
      {text.links(count(sum('lent')), count(sum('borrowed')))}
      {sum('relayed') > 0 && <span class="sub">{text.relayed(count(sum('relayed')))}</span>}
      <span class="sub">{text.load(bitrate(sum('bitrateIn')), bitrate(sum('bitrateOut')))}</span>
      {problems.length > 0 && <State kind="warn">{text.redirects}</State>}
      {problems.length > 0 && (
        <span class="sub">{problems.map((problem) => text.linkProblems[problem]).join(', ')}</span>
      )}
    </>
  )
}

const cpu = ({ cpuPercent, cores }: Node): string =>
  cpuPercent === undefined || cores === undefined ? '–' : text.cpu(cpuPercent, cores)

const sessions = ({ publishers, viewers }: Node): string =>
  `${text.publishersOf(count(publishers))}, ${text.viewersOf(count(viewers))}`

/** The whole server is one node. `database` decides whether more are possible. */
function OnlyNode({ node, database }: { readonly node: Node; readonly database: Listed['database'] }) {
  return (
    <Card title={text.one} aside={<NodeState {...node} />}>
      <p class="note">{text.oneText[database]}</p>
      <Pairs
        rows={[
          [text.version, node.version ?? '–'],
          [text.since, <Running key="since" node={node} />],
          [text.sessions, sessions(node)],
          [text.loadName, load(node)],
          [text.cpuName, cpu(node)],
          [text.mediaName, media(node)],
          [text.seen, <Time key="seen" at={node.lastSeenOn} isWhole />],
          [text.node, <code key="id">{node.id}</code>],
        ]}
      />
    </Card>
  )
}

/** Leads to the findings, the storage and the configuration of a node that can answer. */
function Name({ id, url, isThis, state }: Node) {
  const name = url ?? <code>{id}</code>
  if (state === 'silent') return <>{name}</>
  return <a href={linkTo('/settings/server', { node: isThis ? undefined : id })}>{name}</a>
}

const Running = ({ node: { startedOn } }: { readonly node: Node }) => (
  <>
    <Time at={startedOn} isWhole /> · <Since since={startedOn} />
  </>
)

const COLUMNS: readonly Column<Node>[] = [
  {
    id: 'node',
    title: text.node,
    cell: (node) => (
      <>
        <b class="clamp" title={node.url}>
          <Name {...node} />
        </b>{' '}
        {node.isThis && <span class="tag">{text.thisOne}</span>} {node.region && <span class="tag">{node.region}</span>}
        <span class="sub">
          {node.version} · <Since since={node.startedOn} />
        </span>
        <span class="sub only-narrow">{sessions(node)}</span>
      </>
    ),
  },
  {
    id: 'state',
    title: text.state,
    cell: (node) => (
      <>
        <NodeState {...node} />
        {node.state === 'silent' && (
          <span class="sub">
            {text.seen} <Time at={node.lastSeenOn} isWhole />
          </span>
        )}
      </>
    ),
  },
  {
    id: 'sessions',
    title: text.sessions,
    priority: 2,
    cell: ({ publishers, viewers }) => (
      <>
        <span class="nowrap">{text.publishersOf(count(publishers))}</span>
        <span class="sub nowrap">{text.viewersOf(count(viewers))}</span>
      </>
    ),
  },
  { id: 'load', title: text.loadName, priority: 2, cell: load },
  {
    id: 'cpu',
    title: text.cpuName,
    priority: 2,
    cell: (node) => (
      <>
        {cpu(node)}
        {node.mediaPercent !== undefined && (
          <span class="sub">
            {text.mediaName}: {media(node)}
          </span>
        )}
      </>
    ),
  },
  { id: 'links', title: text.linksName, priority: 3, cell: Links },
]
