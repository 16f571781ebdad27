import { type Answer, readConfiguration } from '#api/tokens.ts'
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
      <p class="note">{text.whichNode(nodeName(loaded.data))}</p>
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
      <ConfigurationCard configuration={loaded.data} query={query} />
    </>
  )
}

/** The address of the node where it has one of its own, else its id. */
function nodeName({ node, keys }: Answer<typeof readConfiguration>): string {
  const url = keys.find(({ key }) => key === 'server.nodeUrl')?.value
  return typeof url === 'string' && url !== '' ? url : node
}
