import { useState } from 'preact/hooks'
import { type Answer, createSecret, deleteSecret, listSecrets, refreshSecret } from '#api/dashboard.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { secretEdits } from '../../live.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Bones, LoadError, Notice } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { toast } from '../../parts/toast.tsx'
import { Time } from '../../parts/values.tsx'
import { useWholeList } from '../../parts/wholeList.tsx'
import { words } from '../../words/words.ts'
import { type Fresh, FreshValue } from './fresh.tsx'
import { NameDialog } from './nameDialog.tsx'

const text = words.settings

type Secret = Answer<typeof listSecrets>[number]
type Question = { readonly what: 'create' } | { readonly what: 'refresh' | 'delete'; readonly secret: Secret }

/** The API secrets of the account: made, refreshed and deleted. */
export function Secrets() {
  const list = useLoad((signal) => call(listSecrets, {}, { signal }), [])
  useFollow(secretEdits, list.reload)
  const { shown, tools, foot } = useWholeList(list.data, ({ name }) => name)
  const [asked, setAsked] = useState<Question | null>(null)
  const [fresh, setFresh] = useState<Fresh | null>(null)
  const show = ({ name, value }: { name: string; value: string }): void => {
    setFresh({ name, values: [[text.secret, value]] })
    list.reload()
  }
  const close = (): void => setAsked(null)
  const create = async (name: string): Promise<void> => show(await call(createSecret, { body: { name } }))
  const refresh = async ({ id }: Secret): Promise<void> =>
    show(await call(refreshSecret, { path: { secretId: String(id) } }))
  const remove = async ({ id, name }: Secret): Promise<void> => {
    await call(deleteSecret, { path: { secretId: String(id) } })
    toast(text.deleted(name))
    setFresh((shown) => (shown?.name === name ? null : shown))
    list.reload()
  }
  return (
    <Card
      title={text.secrets}
      isFlush
      aside={
        <Button size="small" icon="plus" onClick={() => setAsked({ what: 'create' })}>
          {text.newSecret}
        </Button>
      }
      foot={foot}
    >
      {tools}
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      {!list.data && !list.error && <Bones />}
      {list.data?.length === 0 && (
        <div class="pad">
          <Notice>
            <b>{text.noSecret}</b> {text.noSecretText}
          </Notice>
        </div>
      )}
      {shown.length > 0 && (
        <Table caption={text.secrets} rows={shown} keyOf={({ id }) => id} columns={columnsOf(setAsked)} />
      )}
      {fresh && <FreshValue fresh={fresh} />}
      {asked?.what === 'create' && <NameDialog title={text.newSecret} onName={create} onClose={close} />}
      {asked?.what === 'refresh' && (
        <Confirm
          title={text.refreshTitle(asked.secret.name)}
          verb={text.refresh}
          onConfirm={() => refresh(asked.secret)}
          onClose={close}
        >
          {text.refreshText}
        </Confirm>
      )}
      {asked?.what === 'delete' && (
        <Confirm
          title={text.deleteTitle(asked.secret.name)}
          verb={text.delete}
          onConfirm={() => remove(asked.secret)}
          onClose={close}
        >
          {text.deleteText}
        </Confirm>
      )}
    </Card>
  )
}

const columnsOf = (ask: (question: Question) => void): Column<Secret>[] => [
  {
    id: 'name',
    title: text.name,
    cell: ({ name, hint }) => (
      <>
        <b>{name}</b> <code class="faint">…{hint}</code>
      </>
    ),
  },
  {
    id: 'used',
    title: text.lastUsed,
    priority: 2,
    cell: ({ lastUsedOn }) => (lastUsedOn ? <Time at={lastUsedOn} /> : words.parts.notYet),
  },
  { id: 'made', title: text.made, priority: 2, cell: ({ createdOn }) => <Time at={createdOn} /> },
  {
    id: 'actions',
    title: words.parts.actions,
    kind: 'actions',
    cell: (secret) => (
      <>
        <Button size="small" onClick={() => ask({ what: 'refresh', secret })} of={secret.name}>
          {text.refresh}
        </Button>{' '}
        <IconButton icon="trash" label={text.deleteThat(secret.name)} onClick={() => ask({ what: 'delete', secret })} />
      </>
    ),
  },
]
