import { useState } from 'preact/hooks'
import {
  type Answer,
  changePassword,
  endSession,
  listPasskeys,
  listSessions,
  signOutEverywhere,
} from '#api/dashboard.ts'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useFollow } from '../../follow.ts'
import { userEdits } from '../../live.ts'
import { NewPasswordField, PasswordField } from '../../parts/accountFields.tsx'
import { Button } from '../../parts/button.tsx'
import { Confirm, Dialog, SubmitFoot } from '../../parts/dialog.tsx'
import { Segment, Toggle, useSubmit } from '../../parts/form.tsx'
import { Bones, LoadError, Notice } from '../../parts/notice.tsx'
import { Card, Pairs } from '../../parts/page.tsx'
import { orToast, toast } from '../../parts/toast.tsx'
import { moment, Time } from '../../parts/values.tsx'
import { onAir } from '../../onAir.ts'
import { session } from '../../session.ts'
import { chooseTheme, type Theme, theme } from '../../theme.ts'
import { chooseLanguage, LANGUAGES, type Language, language } from '../../words/language.ts'
import { words } from '../../words/words.ts'
import { Passkeys } from './passkeys.tsx'
import { shownUserAgent } from './userAgent.ts'

const text = words.settings

/** The signed-in user: role, theme, password, passkeys, sessions. */
export function You() {
  const { value } = session
  const [asked, setAsked] = useState<'password' | 'everywhere' | null>(null)
  const [changes, setChanges] = useState(0)
  if (value.kind !== 'signedIn') return null
  const { email, role } = value.session.user
  const themes = (['system', 'light', 'dark'] as const).map((one) => [one, text.themes[one]] as const)
  const languages = Object.entries(LANGUAGES) as [Language, string][]
  const signOutAll = async (): Promise<void> => {
    await call(signOutEverywhere, {})
    session.value = { kind: 'none' }
  }
  return (
    <>
      <Card title={text.you}>
        <Pairs
          rows={[
            [text.signedInAs, email],
            [text.role, text.roles[role]],
          ]}
        />
        <div class="field">
          <span class="label">{text.theme}</span>
          <Segment<Theme> label={text.theme} choices={themes} value={theme.value} isWide onChange={chooseTheme} />
        </div>
        {onAir.value === null && (
          <div class="field">
            <span class="label">{words.frame.language}</span>
            <Segment<Language>
              label={words.frame.language}
              choices={languages}
              value={language}
              isWide
              onChange={chooseLanguage}
            />
          </div>
        )}
        <div class="actions">
          <Button onClick={() => setAsked('password')}>{text.changePassword}</Button>
          <Button look="danger" onClick={() => setAsked('everywhere')}>
            {text.everywhere}
          </Button>
        </div>
        {asked === 'password' && (
          <ChangePassword onChanged={() => setChanges(changes + 1)} onClose={() => setAsked(null)} />
        )}
        {asked === 'everywhere' && (
          <Confirm
            title={text.everywhereTitle}
            verb={text.everywhere}
            onConfirm={signOutAll}
            onClose={() => setAsked(null)}
          >
            {text.everywhereText}
          </Confirm>
        )}
      </Card>
      <Passkeys key={changes} />
      <Sessions />
    </>
  )
}

function ChangePassword({ onChanged, onClose }: { readonly onChanged: () => void; readonly onClose: () => void }) {
  const [given, setGiven] = useState({ oldPassword: '', newPassword: '', deletePasskeys: false })
  const passkeys = useLoad((signal) => call(listPasskeys, {}, { signal }), []).data?.length ?? 0
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    await call(changePassword, { body: given })
    toast(text.passwordChanged)
    onChanged()
    onClose()
  })
  const isOfField = Boolean(fields['oldPassword'] ?? fields['newPassword'])
  return (
    <Dialog
      title={text.changePassword}
      onClose={onClose}
      onSubmit={onSubmit}
      foot={<SubmitFoot verb={text.changePassword} isBusy={isBusy} onClose={onClose} />}
    >
      {error && !isOfField && <Notice kind="error">{error.message}</Notice>}
      <PasswordField
        label={text.oldPassword}
        error={fields['oldPassword']}
        value={given.oldPassword}
        onValue={(oldPassword) => setGiven({ ...given, oldPassword })}
      />
      <NewPasswordField
        label={text.newPassword}
        error={fields['newPassword']}
        value={given.newPassword}
        onValue={(newPassword) => setGiven({ ...given, newPassword })}
      />
      {passkeys > 0 && (
        <Toggle
          looks="check"
          label={text.deletePasskeys(passkeys)}
          note={text.deletePasskeysNote}
          isOn={given.deletePasskeys}
          onChange={(deletePasskeys) => setGiven({ ...given, deletePasskeys })}
        />
      )}
    </Dialog>
  )
}

type Own = Answer<typeof listSessions>[number]

function Sessions() {
  const list = useLoad((signal) => call(listSessions, {}, { signal }), [])
  useFollow(userEdits, list.reload)
  const end = async ({ id }: Own): Promise<void> => {
    await call(endSession, { path: { sessionId: String(id) } })
    await list.reloaded()
  }
  return (
    <Card title={text.sessions} isFlush>
      {list.error && <LoadError error={list.error} onRetry={list.reload} />}
      {!list.data && !list.error && <Bones rows={1} />}
      <ul class="rows">
        {list.data?.map((one) => (
          <li key={one.id}>
            <div class="grow">
              <b>{one.address}</b> {one.isCurrent && <span class="tag">{text.thisOne}</span>}
              <p>
                <span title={one.userAgent}>{shownUserAgent(one.userAgent)}</span> · <Time at={one.lastUsedOn} />
              </p>
            </div>
            {!one.isCurrent && (
              <Button size="small" of={`${one.address}, ${moment(one.lastUsedOn)}`} onClick={() => orToast(end(one))}>
                {text.end}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Card>
  )
}
