import { type Answer, listNodes, readConfiguration } from '#api/tokens.ts'
import { call } from '../../../api/call.ts'
import { useLoad } from '../../../api/load.ts'
import { Bones, LoadError } from '../../../parts/notice.tsx'
import { Card } from '../../../parts/page.tsx'
import { type PageArgs, setQuery } from '../../../router.ts'
import { canChange } from '../../../session.ts'
import { settingsWords } from '../../../words/settingsWords.ts'
import { SettingsFrame } from '../tabs.tsx'
import { BackupCard } from './backup.tsx'
import { ConfigurationCard } from './configuration.tsx'
import { DoctorCard } from './doctor.tsx'
import type { NodeProps } from './nodeProps.ts'
import { StorageCard } from './storage.tsx'
import { UpkeepCard } from './upkeep.tsx'
import './server.css'

const text = settingsWords.server

type Node = Answer<typeof listNodes>['nodes'][number]

/** What an operator looks after, of the node that answers or of another. */
export function ServerPage(args: PageArgs) {
  return (
    <SettingsFrame path="/settings/server">
      {canChange() ? (
        <Operated {...args} />
      ) : (
        <Card title={text.title}>
          <p class="note">{text.adminsOnly}</p>
        </Card>
      )}
    </SettingsFrame>
  )
}

/** The parts have a state of their own for each node. */
function Operated({ query }: PageArgs) {
  const { data, error } = useLoad((signal) => call(listNodes, {}, { signal }), [])
  const nodes = data?.nodes ?? []
  const asked = query.get('node') ?? ''
  const isOther = asked !== '' && !nodes.some(({ id, isThis }) => isThis && id === asked)
  return (
    <div class="stack in-order">
      {!data && !error ? <Bones rows={1} /> : <NodeChoice nodes={nodes} asked={asked} />}
      {isOther ? <OneNode key={asked} node={asked} query={query} /> : <OneNode key="this" query={query} />}
    </div>
  )
}

/** Nodes that are gone cannot say anything. The one that was asked for stays in the list. */
function NodeChoice({ nodes, asked }: { readonly nodes: readonly Node[]; readonly asked: string }) {
  const listed = nodes.filter(({ id, state }) => state !== 'silent' || id === asked)
  const isGone = asked !== '' && nodes.length > 0 && !listed.some(({ id }) => id === asked)
  if (listed.length < 2 && !isGone) return null
  return (
    <label class="node-choice">
      {text.node}
      <select
        class="select auto"
        value={asked || listed.find(({ isThis }) => isThis)?.id}
        onChange={({ currentTarget: { value } }) => setQuery({ node: value })}
      >
        {isGone && <option value={asked}>{text.gone}</option>}
        {listed.map(({ id, url, region, isThis }) => (
          <option key={id} value={id}>
            {[url ?? id, region, isThis ? text.thisOne : undefined].filter(Boolean).join(' · ')}
          </option>
        ))}
      </select>
    </label>
  )
}

/** @param node absent: the one that answers, whose backup is that of the database of all */
function OneNode({ node, query }: NodeProps & { readonly query: URLSearchParams }) {
  const loaded = useLoad((signal) => call(readConfiguration, { query: { node } }, { signal }), [])
  if (loaded.error) return <LoadError error={loaded.error} onRetry={loaded.reload} />
  if (!loaded.data) return <Bones />
  return (
    <>
      <div class="cols half in-order">
        <div class="stack in-order">
          <DoctorCard node={node} />
          {node === undefined && <BackupCard />}
        </div>
        <div class="stack in-order">
          <UpkeepCard node={node} />
          <StorageCard node={node} />
        </div>
      </div>
      <ConfigurationCard configuration={loaded.data} query={query} onReloaded={loaded.reload} />
    </>
  )
}
