import { useState } from 'preact/hooks'
import { type Answer, createCredential, deleteCredential, listCredentials } from '#api/dashboard.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { secretEdits } from '../../live.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Segment } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { toast } from '../../parts/toast.tsx'
import { Time } from '../../parts/values.tsx'
import { useWholeList } from '../../parts/wholeList.tsx'
import { words } from '../../words/words.ts'
import { type Fresh, FreshValue } from './fresh.tsx'
import { NameDialog } from './nameDialog.tsx'

const text = words.settings

type Credential = Answer<typeof listCredentials>[number]
type Scope = Credential['scope']

/** The credentials of the channel API. */
export function Credentials() {
  const list = useLoad((signal) => call(listCredentials, {}, { signal }), [])
  useFollow(secretEdits, list.reload)
  const { shown, tools, foot } = useWholeList(list.data, ({ name, key }) => `${name} ${key}`)
  const [isMaking, setMaking] = useState(false)
  const [scope, setScope] = useState<Scope>('write')
  const [doomed, setDoomed] = useState<Credential | null>(null)
  const [fresh, setFresh] = useState<Fresh | null>(null)
  const create = async (name: string): Promise<void> => {
    const made = await call(createCredential, { body: { name, scope } })
    setFresh({
      name,
      values: [
        [text.key, made.key],
        [text.secret, made.secret],
      ],
    })
    list.reload()
  }
  const remove = async ({ id, name }: Credential): Promise<void> => {
    await call(deleteCredential, { path: { credentialId: String(id) } })
    toast(text.deleted(name))
    setFresh((shown) => (shown?.name === name ? null : shown))
    list.reload()
  }
  return (
    <Card
      title={text.credentials}
      isFlush
      aside={
        <Button size="small" icon="plus" onClick={() => setMaking(true)}>
          {text.newCredential}
        </Button>
      }
      foot={foot}
    >
      {tools}
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      {!list.data && !list.error && <Bones />}
      {list.data?.length === 0 && <p class="pad note">{text.noCredential}</p>}
      <ul class="rows">
        {shown.map((one) => (
          <Row key={one.id} credential={one} onDelete={() => setDoomed(one)} />
        ))}
      </ul>
      {fresh && <FreshValue fresh={fresh} />}
      {isMaking && (
        <NameDialog title={text.newCredential} onName={create} onClose={() => setMaking(false)}>
          {() => <ScopeChoice value={scope} onChange={setScope} />}
        </NameDialog>
      )}
      {doomed && (
        <Confirm
          title={text.deleteTitle(doomed.name)}
          verb={text.delete}
          onConfirm={() => remove(doomed)}
          onClose={() => setDoomed(null)}
        >
          {text.deleteText}
        </Confirm>
      )}
    </Card>
  )
}

const ScopeChoice = ({ value, onChange }: { readonly value: Scope; readonly onChange: (scope: Scope) => void }) => (
  <Segment
    label={text.scope}
    choices={[
      ['write', text.scopes.write],
      ['read', text.scopes.read],
    ]}
    value={value}
    onChange={onChange}
  />
)

function Row({ credential, onDelete }: { readonly credential: Credential; readonly onDelete: () => void }) {
  const { name, key, scope, lastUsedOn } = credential
  return (
    <li>
      <Icon name="tokens" />
      <div class="grow">
        <b>{name}</b>
        <p>
          <code>{key}</code> · {text.scopes[scope]} · {text.lastUsed}:{' '}
          {lastUsedOn ? <Time at={lastUsedOn} /> : words.parts.notYet}
        </p>
      </div>
      <IconButton icon="trash" label={text.deleteThat(`${name}, ${key}`)} onClick={onDelete} />
    </li>
  )
}
