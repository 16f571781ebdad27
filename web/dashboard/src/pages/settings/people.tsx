import { useState } from 'preact/hooks'
import { type Answer, createUser, deleteUser, listUsers, updateUser } from '#api/dashboard.ts'
import { ApiError, call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { userEdits } from '../../live.ts'
import { NewAccountFields } from '../../parts/accountFields.tsx'
import { Button, IconButton } from '../../parts/button.tsx'
import { Confirm, Dialog, SubmitFoot } from '../../parts/dialog.tsx'
import { Segment, useSubmit } from '../../parts/form.tsx'
import { Bones, LoadError, Notice } from '../../parts/notice.tsx'
import { Card } from '../../parts/page.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { toast } from '../../parts/toast.tsx'
import { useWholeList } from '../../parts/wholeList.tsx'
import { Time } from '../../parts/values.tsx'
import { canChange, openSession, session } from '../../session.ts'
import { words } from '../../words/words.ts'
import { SettingsFrame } from './tabs.tsx'

const text = words.settings

type User = Answer<typeof listUsers>[number]
type Role = User['role']

const roleChoices = [
  ['admin', text.roles.admin],
  ['viewer', text.roles.viewer],
] as const

const isOwn = ({ id }: User): boolean => session.value.kind === 'signedIn' && session.value.session.user.id === id

async function changeRole(user: User, role: Role): Promise<void> {
  await call(updateUser, { path: { userId: String(user.id) }, body: { role } })
  // The controls of this page follow one's own role.
  if (isOwn(user)) await openSession()
}

/** The users of the dashboard and their roles. */
export function PeoplePage() {
  const list = useLoad((signal) => call(listUsers, {}, { signal }), [])
  useFollow(userEdits, list.reload)
  const { shown, tools, foot } = useWholeList(list.data, ({ email }) => email)
  const [isMaking, setMaking] = useState(false)
  const [doomed, setDoomed] = useState<User | null>(null)
  const [error, setError] = useState('')
  const change = (user: User, role: Role): void => {
    setError('')
    changeRole(user, role)
      .catch((refusal: unknown) => setError(refusal instanceof ApiError ? refusal.message : String(refusal)))
      .finally(list.reload)
  }
  const remove = async (user: User): Promise<void> => {
    const { id, email } = user
    await call(deleteUser, { path: { userId: String(id) } })
    if (isOwn(user)) {
      session.value = { kind: 'none' }
      return
    }
    toast(text.deleted(email))
    list.reload()
  }
  return (
    <SettingsFrame path="/settings/people">
      <Card
        title={text.people}
        isFlush
        aside={
          canChange() && (
            <Button size="small" icon="plus" onClick={() => setMaking(true)}>
              {text.newUser}
            </Button>
          )
        }
        foot={foot}
      >
        {tools}
        {error && <Notice kind="error">{error}</Notice>}
        {list.error && <LoadError error={list.error} onRetry={list.reload} />}
        {!list.data && !list.error && <Bones />}
        {shown.length > 0 && (
          <Table caption={text.people} rows={shown} keyOf={({ id }) => id} columns={columnsOf(change, setDoomed)} />
        )}
      </Card>
      {isMaking && <NewUser onMade={list.reload} onClose={() => setMaking(false)} />}
      {doomed && (
        <Confirm
          title={text.deleteTitle(doomed.email)}
          verb={text.delete}
          onConfirm={() => remove(doomed)}
          onClose={() => setDoomed(null)}
        >
          {text.deleteUserText}
        </Confirm>
      )}
    </SettingsFrame>
  )
}

const columnsOf = (change: (user: User, role: Role) => void, doom: (user: User) => void): Column<User>[] => [
  { id: 'email', title: words.signIn.email, cell: ({ email }) => <b class="clamp">{email}</b> },
  {
    id: 'role',
    title: text.role,
    cell: (user) =>
      canChange() ? (
        <Segment
          label={`${text.role} ${user.email}`}
          choices={roleChoices}
          value={user.role}
          onChange={(role) => change(user, role)}
        />
      ) : (
        text.roles[user.role]
      ),
  },
  { id: 'made', title: text.made, priority: 2, cell: ({ createdOn }) => <Time at={createdOn} /> },
  {
    id: 'actions',
    title: words.parts.actions,
    kind: 'actions',
    cell: (user) =>
      canChange() && <IconButton icon="trash" label={text.deleteThat(user.email)} onClick={() => doom(user)} />,
  },
]

function NewUser({ onMade, onClose }: { readonly onMade: () => void; readonly onClose: () => void }) {
  const [given, setGiven] = useState<{ email: string; password: string; role: Role }>({
    email: '',
    password: '',
    role: 'viewer',
  })
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    await call(createUser, { body: given })
    onClose()
    onMade()
  })
  const isOfField = Boolean(fields['email'] ?? fields['password'])
  return (
    <Dialog
      title={text.newUser}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={<SubmitFoot verb={text.newUser} isBusy={isBusy} onClose={onClose} />}
    >
      {error && !isOfField && <Notice kind="error">{error.message}</Notice>}
      <NewAccountFields
        email={given.email}
        password={given.password}
        errors={fields}
        autocomplete="off"
        onValue={(changes) => setGiven({ ...given, ...changes })}
      />
      <Segment
        label={text.role}
        choices={roleChoices}
        value={given.role}
        onChange={(role) => setGiven({ ...given, role })}
      />
      <p class="hint">{text.roleHint}</p>
    </Dialog>
  )
}
