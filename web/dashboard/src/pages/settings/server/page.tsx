import { type Answer, listNodes, readConfiguration } from '#api/tokens.ts'
import { serverPageAt } from '../../../addresses.ts'
import { call } from '../../../api/call.ts'
import { useLoad } from '../../../api/load.ts'
import { Bones, LoadError } from '../../../parts/notice.tsx'
import { Card } from '../../../parts/page.tsx'
import type { PageArgs } from '../../../router.ts'
import { canChange } from '../../../session.ts'
import { settingsWords } from '../../../words/settingsWords.ts'
import { SettingsFrame } from '../tabs.tsx'
import { BackupCard } from './backup.tsx'
import { ConfigurationCard } from './configuration.tsx'
import { DoctorCard } from './doctor.tsx'
import { StorageCard } from './storage.tsx'
import { UpkeepCard } from './upkeep.tsx'

const text = settingsWords.server

/** What an operator looks after, of the node that answers. */
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

function Operated({ query }: PageArgs) {
  const loaded = useLoad((signal) => call(readConfiguration, {}, { signal }), [])
  if (loaded.error) return <LoadError error={loaded.error} onRetry={loaded.reload} />
  if (!loaded.data) return <Bones />
  return (
    <>
      <p class="note">
        {text.whichNode(nodeName(loaded.data))} <OtherNodes />
      </p>
      <div class="cols half">
        <div class="stack">
          <DoctorCard />
          <BackupCard />
        </div>
        <div class="stack">
          <UpkeepCard />
          <StorageCard />
        </div>
      </div>
      <ConfigurationCard configuration={loaded.data} query={query} onReloaded={loaded.reload} />
    </>
  )
}

/** The same page of each other node, where that has an address of its own. */
function OtherNodes() {
  const { data } = useLoad((signal) => call(listNodes, {}, { signal }), [])
  const others = (data?.nodes ?? []).filter(({ isThis, state }) => !isThis && state !== 'silent')
  const addresses = others.flatMap(({ url }) => (url === undefined ? [] : [url]))
  const rest = others.length - addresses.length
  return (
    <>
      {addresses.length > 0 && text.otherNodes}{' '}
      {addresses.map((url) => (
        <span key={url}>
          <a href={serverPageAt(url)}>{url}</a>{' '}
        </span>
      ))}
      {rest > 0 && text.withoutAddress(rest)}
    </>
  )
}

/** The address of the node where it has one of its own, else its id. */
function nodeName({ node, keys }: Answer<typeof readConfiguration>): string {
  const url = keys.find(({ key }) => key === 'server.nodeUrl')?.value
  return typeof url === 'string' && url !== '' ? url : node
}
