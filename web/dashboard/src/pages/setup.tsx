import { useState } from 'preact/hooks'
import { setUp } from '#api/dashboard.ts'
import { call } from '../api/call.ts'
import { NewAccountFields } from '../parts/accountFields.tsx'
import { Button } from '../parts/button.tsx'
import { useSubmit } from '../parts/form.tsx'
import { Notice } from '../parts/notice.tsx'
import { Solo } from './firstRun/solo.tsx'
import { go } from '../router.ts'
import { openSession } from '../session.ts'
import { words } from '../words/words.ts'

const text = words.setup

/** The first step of the first run: the link of the terminal makes the first user. */
export function SetupPage({ code }: { readonly code: string }) {
  const [given, setGiven] = useState({ email: '', password: '' })
  const { isBusy, error, fields, onSubmit } = useSubmit(async () => {
    await call(setUp, { body: { code, ...given } }, { signsIn: true })
    await openSession()
    go('/first-run', {}, true)
  })
  const isOfField = Boolean(fields['email'] ?? fields['password'])
  return (
    <Solo step={1} title={text.title} lead={text.lead}>
      <form class="form narrow" onSubmit={onSubmit}>
        {error && !isOfField && <Notice kind="error">{error.message}</Notice>}
        <NewAccountFields
          email={given.email}
          password={given.password}
          errors={fields}
          autocomplete="username"
          onValue={(changes) => setGiven({ ...given, ...changes })}
        />
        <div class="actions">
          <Button look="primary" size="big" type="submit" isBusy={isBusy}>
            {text.submit}
          </Button>
        </div>
      </form>
    </Solo>
  )
}
