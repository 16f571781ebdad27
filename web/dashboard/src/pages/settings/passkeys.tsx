import { useState } from 'preact/hooks'
import { type Answer, deletePasskey, listPasskeys } from '#api/dashboard.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Bones, LoadError } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { toast } from '../../parts/toast.tsx'
import { Time } from '../../parts/values.tsx'
import { makePasskey, obstacleText } from '../../passkeys/passkeys.ts'
import { words } from '../../words/words.ts'
import { NameDialog } from './nameDialog.tsx'

const text = words.passkeys

type Passkey = Answer<typeof listPasskeys>[number]

/** The passkeys of the signed-in user: added, listed and removed. */
export function Passkeys() {
  const list = useLoad((signal) => call(listPasskeys, {}, { signal }), [])
  const [isAdding, setAdding] = useState(false)
  const [doomed, setDoomed] = useState<Passkey | null>(null)
  const obstacle = obstacleText()
  const [password, setPassword] = useState('')
  const hasPasskey = Boolean(list.data?.length)
  const add = async (name: string): Promise<void> => {
    await makePasskey(name, password)
    toast(text.added(name))
    list.reload()
  }
  const close = (): void => {
    setAdding(false)
    setPassword('')
  }
  const remove = async ({ id, name }: Passkey): Promise<void> => {
    await call(deletePasskey, { path: { passkeyId: id } })
    toast(words.settings.deleted(name))
    list.reload()
  }
  const addButton = (
    <Button size="small" icon="plus" onClick={() => setAdding(true)}>
      {text.add}
    </Button>
  )
  return (
    <Card title={text.title} isFlush aside={obstacle === null && addButton}>
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      {!list.data && !list.error && <Bones rows={1} />}
      {obstacle !== null && <p class="pad note">{obstacle}</p>}
      {obstacle === null && list.data?.length === 0 && <p class="pad note">{text.none}</p>}
      <ul class="rows">
        {list.data?.map((one) => (
          <Row key={one.id} passkey={one} onDelete={() => setDoomed(one)} />
        ))}
      </ul>
      {isAdding && (
        <NameDialog title={text.add} onName={add} onClose={close}>
          {(fields) => (
            <>
              <p class="hint">{text.nameHint}</p>
              <TextField
                label={words.settings.oldPassword}
                type="password"
                autocomplete="current-password"
                required={!hasPasskey}
                hint={hasPasskey ? text.confirmEither : text.confirm}
                error={fields['password']}
                value={password}
                onValue={setPassword}
              />
            </>
          )}
        </NameDialog>
      )}
      {doomed && (
        <Confirm
          title={words.settings.deleteTitle(doomed.name)}
          verb={words.settings.delete}
          onConfirm={() => remove(doomed)}
          onClose={() => setDoomed(null)}
        >
          {text.deleteText}
        </Confirm>
      )}
    </Card>
  )
}

function Row({ passkey, onDelete }: { readonly passkey: Passkey; readonly onDelete: () => void }) {
  const { name, host, lastUsedOn } = passkey
  return (
    <li>
      <Icon name="tokens" />
      <div class="grow">
        <b>{name}</b>
        <p>
          {text.at(host)} · {words.settings.lastUsed}: {lastUsedOn ? <Time at={lastUsedOn} /> : words.parts.notYet}
        </p>
      </div>
      <IconButton icon="trash" label={words.settings.deleteThat(name)} onClick={onDelete} />
    </li>
  )
}
